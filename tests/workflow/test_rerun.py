"""What is computed anew after a change: that which depends on it, and nothing else."""

from families import with_pages

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
#: Mixtures by class, in the module of the shifted mixture.
GENERATIVE = {"train twin generative", "evaluate twin generative", "train twin generative-lemma2"}


def test_an_edited_model_recomputes_that_model_only(again):
    before = again.digests(".parquet")
    again.append("workflow/counterweight/models/class_mixtures.py", "# edited\n")
    run = again.run()
    assert run.status == 0, run.output
    assert run.jobs == with_pages(SHIFTED_MIXTURE | GENERATIVE)
    assert again.digests(".parquet") == before
    assert again.plan() == set()


def test_an_edited_helper_recomputes_what_imports_it(again):
    # What hidden labels could make of metrics goes by calibrated chances, so by this helper, too.
    again.append("workflow/counterweight/evaluation/hidden_labels.py", "# edited\n")
    swept = again.plan()
    assert any(job.startswith("evaluate ") for job in swept)
    again.append("workflow/counterweight/numerics/linear.py", "# edited\n")
    logistic = {"logistic", "logistic-lemma1", "logistic-lemma2", "logistic-oracle"}
    expected = {"select twin logistic"}
    expected |= {f"weigh twin {weights}-logistic" for weights in ("lemma1", "lemma2")}
    for study, methods in (
        ("twin", logistic),
        ("twin_kept", {"logistic"}),
        ("curved", {"logistic", "logistic-lemma1"}),
        ("ranking", {"logistic"}),
        ("clicks", {"logistic", "logistic-spline", "tree-progressive"}),
        # Thresholds that move, rewards by a regressor, and the start of constraints.
        ("offers", {"predictive_choice"}),
        ("log", {"stochastic"}),
        ("rates", {"ramp", "svm"}),
    ):
        expected |= {f"{rule} {study} {name}" for rule in ("train", "evaluate") for name in methods}
    expected |= {"select held logistic", "weigh held lemma1-logistic"}
    expected |= {f"{rule} held constrained-lemma1" for rule in ("train", "evaluate")}
    expected |= {f"{rule} offers offer_logistic" for rule in ("train", "evaluate")}
    expected.add("deliver_offers")
    # Selectors are one module, and one of them goes by it; so are rules that label, thresholds
    # beside their learners, the model of balanced filters, and the mixtures by class.
    expected |= {"select twin gradient_boosting", "select curved known", "train twin generative"}
    labeled = {"twin", "twin_kept", "curved", "clicks", "ranking", "held", "rates"}
    expected |= {f"label {study}" for study in labeled} | {"train rates thresholds"}
    filters = {"naive_tree", "alpha_beta"}
    expected |= {f"{rule} people {name}" for rule in ("train", "evaluate") for name in filters}
    expected.add("deliver_people")
    expected |= {f"weigh twin {weights}-gradient_boosting" for weights in ("lemma1", "lemma2")}
    expected |= {"weigh curved lemma1-known"}
    drawn = {"curved", "clicks", "ranking", "offers", "log", "rates", "people"}
    expected |= {f"draw_{study}" for study in drawn}
    assert again.plan() == with_pages(expected | LEMMA2) | swept


def test_edited_evaluation_recomputes_metrics_only(again):
    again.append("workflow/counterweight/evaluation/predictions.py", "# edited\n")
    jobs = again.plan()
    drawn = {f"draw_{study}" for study in ("twin", "curved", "clicks", "ranking", "log", "rates")}
    rules = {job.split()[0] for job in jobs}
    assert rules == {"evaluate", "report"} | with_pages(drawn)
    assert len([job for job in jobs if job.startswith("evaluate ")]) == 19


PROXY = {
    "select people alpha_beta",
    "weigh people quadratic-alpha_beta",
    "train people alpha_beta",
    "evaluate people alpha_beta",
    "deliver_people",
    "draw_people",
}


# Studies know nothing of each other, so one dry run tells of changes in several.


def test_edited_modules_recompute_what_uses_them_only(again):
    edits = {
        "evaluation/policy_value": {"evaluate log stochastic", "draw_log"},
        # A wrapper for people's own models: the workflow's do not use it.
        "models/subsampling/calibrated_subsample": set(),
        "models/subsampling/subsampled": {
            *("train clicks logistic-spline", "evaluate clicks logistic-spline", "draw_clicks")
        },
        "models/choice/steps": {
            *("train offers predictive_choice", "evaluate offers predictive_choice"),
            *("deliver_offers", "draw_offers"),
        },
        "selection/split_growth": PROXY,
    }
    for module in edits:
        again.append(f"workflow/counterweight/{module}.py", "# edited\n")
    assert again.plan() == with_pages({"report"}.union(*edits.values()))


def test_other_options_recompute_what_depends_on_them_only(again):
    config = again.config
    studies = config["studies"]
    studies["twin_kept"]["keep_rate"] = 0.5
    expected = {"label twin_kept", "train twin_kept logistic", "evaluate twin_kept logistic"}
    studies["ranking"]["evaluation"]["resamples"] = 41
    studies["log"]["evaluation"]["keep_rates"] = [1.0, 0.2]
    expected |= {"evaluate ranking logistic", "draw_ranking"}
    expected |= {"evaluate log stochastic", "draw_log"}
    # Another interpolation: the acceptance alone.
    studies["people"]["weighting"][0]["etas"] = [0.0, 1.0]
    expected |= {"weigh people equal-tree", "train people naive_tree"}
    expected |= {"evaluate people naive_tree", "draw_people"}
    studies["rates"]["models"][1]["sweep"]["kappa"] = [0.5, 0.9]
    expected |= {"train rates ramp", "evaluate rates ramp", "draw_rates"}
    again.config = config
    assert again.plan() == with_pages(expected | {"report"})


def test_other_caps_budgets_and_measures_recompute_what_depends_on_them_only(again):
    config = again.config
    studies = config["studies"]
    lemma2 = studies["twin"]["weighting"][1]
    assert lemma2["weighting"] == "lemma2"
    lemma2["max_weight"] = 2.0
    expected = {f"weigh twin lemma2-{name}" for name in ("logistic", "gradient_boosting")} | LEMMA2
    studies["curved"]["models"].append({"model": "logistic", "oracle": True})
    expected |= {f"{rule} curved logistic-oracle" for rule in ("train", "evaluate")}
    studies["people"]["selection"][1]["alphas"] = [0.0, 0.2, 0.3]
    # Rates on the training rows are measured where the model is trained.
    studies["held"]["evaluation"]["measures"]["accuracy"] = "accuracy(everyone)"
    expected |= {f"{rule} held constrained-lemma1" for rule in ("train", "evaluate")}
    again.config = config
    assert again.plan() == with_pages(expected | PROXY | {"draw_curved"})


def test_another_filter_to_give_away_writes_that_filter_only(again):
    config = again.config
    config["studies"]["people"]["filter"]["setting"] = "alpha=0.1"
    again.config = config
    # The figures that tell of the delivered filter are drawn anew.
    assert again.plan() == with_pages({"deliver_people", "draw_people", "report"})


def test_an_edited_rate_solver_recomputes_the_constrained_models_only(again):
    again.append("workflow/counterweight/models/constraints/convex_step.py", "# edited\n")
    expected = {"draw_rates", "report"}
    for study, method in (("rates", "svm"), ("rates", "ramp"), ("held", "constrained-lemma1")):
        expected |= {f"{rule} {study} {method}" for rule in ("train", "evaluate")}
    some = again.plan() - {"train rates thresholds", "evaluate rates thresholds"}
    assert some == with_pages(expected)


def test_an_upgrade_re_runs_the_jobs_that_load_the_library_and_says_why(again, tmp_path):
    other = tmp_path / "scikit_learn-99.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: scikit-learn\nVersion: 99.0\n")
    run = again.run("--dry-run", environment={"PYTHONPATH": str(tmp_path)})
    assert run.status == 0, run.output
    assert "99.0" in run.output
    assert "train curved logistic" in run.jobs
    # These load no scikit-learn, and nothing above them does.
    assert not {"label curved", "prepare_curved", "prepare_adult", "label twin"} & run.jobs
    assert again.plan() == set()
