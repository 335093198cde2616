from counterweight.files.jobs import running

if __name__ == "__main__":
    with running(snakemake) as job:
        job.run()
