from counterweight.tables.jobs import running

if __name__ == "__main__":
    with running(snakemake) as job:
        job.run()
