# Counterweight: table of contents. Stages in the order of the flow; helpers in common.smk.
import os
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.19")


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/download.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/columns.smk"
include: "workflow/rules/sum.smk"
include: "workflow/rules/label.smk"
include: "workflow/rules/select.smk"
include: "workflow/rules/weigh.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/collect.smk"
include: "workflow/rules/deliver.smk"
include: "workflow/rules/apply.smk"
include: "workflow/rules/rehearse.smk"
include: "workflow/rules/rehearsed.smk"
include: "workflow/rules/compare.smk"
include: "workflow/rules/compared.smk"
include: "workflow/rules/draw.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        rules.report.output,
        [listed(job("page", family).outputs) for family in families(PLAN)],
        given_away(),


rule benchmarks:
    input:
        BENCHMARKS.outputs(),


onstart:
    started()


onsuccess:
    print(what_was_made())


onerror:
    report_what_is_there()
