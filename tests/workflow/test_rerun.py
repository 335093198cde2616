"""What is computed anew after a change: that which depends on it, and nothing else."""

AFTER_SHIFTED_MIXTURE = {
    "evaluate twin shifted_mixture",
    "evaluate twin shifted_mixture-sweep",
    "draw_twin",
    "report",
}
SHIFTED_MIXTURE = {
    "train twin shifted_mixture",
    "train twin shifted_mixture-sweep",
} | AFTER_SHIFTED_MIXTURE
LEMMA2 = {
    "train twin logistic-lemma2",
    "train twin generative-lemma2",
    "evaluate twin logistic-lemma2",
} | SHIFTED_MIXTURE


def test_another_cap_recomputes_the_weights_and_what_uses_them(again):
    config = again.config
    lemma2 = config["studies"]["twin"]["weighting"][1]
    assert lemma2["weighting"] == "lemma2"
    lemma2["max_weight"] = 2.0
    again.config = config
    weights = {f"compute_weights twin lemma2 {name}" for name in ("logistic", "gradient_boosting")}
    assert again.plan() == weights | LEMMA2


def test_an_edited_model_recomputes_that_model_only(again):
    before = again.digests(".parquet")
    again.append("workflow/counterweight/models/shifted_mixture.py", "# edited\n")
    run = again.run()
    assert run.status == 0, run.output
    assert run.jobs == SHIFTED_MIXTURE
    assert again.digests(".parquet") == before
    assert again.plan() == set()


def test_an_edited_helper_recomputes_what_imports_it(again):
    again.append("workflow/counterweight/linear.py", "# edited\n")
    logistic = {"logistic", "logistic-lemma1", "logistic-lemma2", "logistic-oracle"}
    expected = {"fit_selection twin logistic"}
    expected |= {f"compute_weights twin {weights} logistic" for weights in ("lemma1", "lemma2")}
    for study, methods in (("twin", logistic), ("curved", {"logistic", "logistic-lemma1"})):
        expected |= {f"{rule} {study} {name}" for rule in ("train", "evaluate") for name in methods}
    assert again.plan() == expected | LEMMA2 | {"draw_curved"}


def test_edited_evaluation_recomputes_metrics_only(again):
    again.append("workflow/counterweight/evaluation/evaluate.py", "# edited\n")
    jobs = again.plan()
    assert {job.split()[0] for job in jobs} == {"evaluate", "draw_twin", "draw_curved", "report"}
    assert len([job for job in jobs if job.startswith("evaluate")]) == 9


def test_a_new_registry_entry_recomputes_nothing(again):
    again.replace(
        "workflow/counterweight/models/__init__.py",
        "MODELS = {",
        'MODELS = {\n    "another": "counterweight.models.logistic:Logistic",',
    )
    assert again.plan() == set()


def test_another_title_changes_the_report_only(again):
    config = again.config
    config["studies"]["curved"]["title"] = "Another title"
    again.config = config
    jobs = again.plan()
    assert "report" in jobs
    assert jobs <= {"report", "draw_curved"}


def test_a_new_method_computes_that_method_only(again):
    config = again.config
    config["studies"]["curved"]["models"].append({"model": "logistic", "oracle": True})
    again.config = config
    assert again.plan() == {
        "train curved logistic-oracle", "evaluate curved logistic-oracle", "draw_curved", "report",
    }  # fmt: skip


def test_a_newer_date_without_other_bytes_recomputes_nothing(again):
    for path in ("data/generated/adult/adult.data", "results/twin/features.parquet"):
        (again.folder / path).touch()
    assert again.plan() == set()
