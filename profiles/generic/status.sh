#!/bin/sh
# The state of a job of Slurm in the words of Snakemake; other schedulers need their own.
state=$(scontrol -o show job "$1" 2>/dev/null | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p')
case "$state" in
  COMPLETED) echo success ;;
  PENDING | CONFIGURING | RUNNING | COMPLETING | SUSPENDED | REQUEUED) echo running ;;
  *) echo failed ;;
esac
