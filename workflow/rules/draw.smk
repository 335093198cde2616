"""Stage 7, report assembly: the figures of each study.

Needs: its tables of measurements, features, labels, truth and fitted selection models. Makes: each
figure as a wide and a narrow SVG with a CSV of what it draws, and a table of their titles.
"""

for study_name, study_parts in STUDIES.items():
    if study_parts["figures"]:

        rule:
            name:
                f"draw_{study_name}"
            input:
                **job("draw", study_name).inputs,
            output:
                [
                    (
                        report(
                            path,
                            caption="../report/figure.rst",
                            category=study_parts["title"],
                            labels={"study": study_name, "figure": Path(path).stem},
                        )
                        if Path(path).stem in study_parts["figures"]
                        and path.endswith(".svg")
                        else path
                    )
                    for path in PATHS.figures(study_name)
                ],
            log:
                PATHS.log("draw", study_name),
            benchmark:
                f"{RESULTS}/benchmarks/draw/{study_name}.tsv"
            conda:
                ENVIRONMENT
            threads: 1
            resources:
                mem_mb=needed("draw", 1000, study_name),
                runtime=more(10),
            params:
                job=spec("draw", study_name),
            script:
                "../../scripts/draw.py"
