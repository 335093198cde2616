"""Questions of one's own tables as studies: what headers tell, promises, filters, conditions."""

import numpy as np
import pandas as pd
import pytest
import yaml
from counterweight.errors import CounterweightError
from counterweight.plan import config, reading
from counterweight.plan.own import with_own_tables
from counterweight.tasks import own_studies
from counterweight.tasks.own_studies import check_headers


def planned(given):
    return config.resolve(with_own_tables({"results": "r", "data": "d"} | given, given))


#: Tables by name, each with the columns of its header; `other` has those of new rows and targets.
HEADERS = {
    "people.csv": "id,y,ok,age,sex,old,score,when,branch,size,offer,came",
    "log.csv": "id,clicked,p,q,device,user,rate,arm,took",
    "new.csv": "id,age,sex,when,branch,size,offer",
    "few.csv": "id,age",
    "others.csv": "id,what,ever",
    "no_id.csv": "age,sex,old,score,when,branch,size,ok,offer,came",
}
BLANKS = {"table": "people.csv", "outcome": "y"}
HECKMAN = {"weighting": "heckman"}
OFFERS = {"table": "people.csv", "offer": "offer", "answer": "came"}
LOG = {"table": "log.csv", "reward": "clicked", "propensity": "p", "policies": {"new": "q"}}
PROMISES = BLANKS | {"promises": ["coverage(a) >= 0.8"], "groups": {"a": {"sex": "f"}}}
PANEL = {"table": "people.csv", "id": "id", "balance": ["sex"]}
SCORED = {"table": "log.csv", "reward": "clicked", "predictions": {"one": "p", "two": "q"}}

#: What a header tells: the entry, and words of the sentence.
BY_HEADER = [
    (BLANKS | {"outcome": "Y"}, "people.csv has no column 'Y', which outcome names (is it 'y'?)"),
    (BLANKS | {"id": "person"}, "which id names"),
    (BLANKS | {"weight": "wait"}, "which weight names"),
    (BLANKS | {"time": "When"}, "which time names (is it 'when'?)"),
    (BLANKS | {"group": "brunch"}, "which group names (is it 'branch'?)"),
    (BLANKS | {"labeled": {"where": {"okay": True}}}, "which labeled names"),
    (BLANKS | {"columns": {"ignore": ["notes"]}}, "which columns.ignore names"),
    (BLANKS | {"columns": {"keep": ["notes"]}}, "which columns.keep names"),
    (BLANKS | {"columns": {"dates": [{"wen": "%Y"}]}}, "which columns.dates names (is it 'when'"),
    (BLANKS | {"columns": {"numbers": [{"sise": {"decimal": ","}}]}}, "(is it 'size'?)"),
    (BLANKS | {"columns": {"text": ["age"], "dates": ["age"]}}, "columns.dates and in columns.tex"),
    (BLANKS | {"columns": {"ignore": ["age"], "keep": ["age"]}}, "columns.ignore and in columns.k"),
    (BLANKS | {"target": {"margins": {"sx": {"f": 1.0}}}}, "which target.margins names"),
    (BLANKS | {"target": {"table": "new.csv", "columns": ["y2"]}}, "which target.columns names"),
    (
        BLANKS | {"target": {"table": "few.csv", "columns": ["sex"]}},
        "few.csv has no column 'sex', which target.columns names",
    ),
    (BLANKS | {"target": {"table": "new.csv", "weight": "w"}}, "which target.weight names"),
    (BLANKS | {"weights": HECKMAN | {"exclusion": "brunch"}}, "exclusion names (is it 'branch'?)"),
    (BLANKS | {"weights": HECKMAN | {"exclusion": "y"}}, "'y', from which nothing is learned"),
    (
        BLANKS | {"weights": {"weighting": "rosset", "features": ["sex", "hight"]}},
        "which weights.features names",
    ),
    (BLANKS | {"tilt": {"times": 0}}, "tilt.times is 0: it must be above 0."),
    (BLANKS | {"tilt": {"rate": 26.6}}, "it must be below 1. In parts of 1, 26.6 % is 0.266."),
    (
        BLANKS | {"tilt": {"times": 2}, "weights": HECKMAN | {"exclusion": "branch"}},
        "tilt and the weights heckman stand together",
    ),
    (
        BLANKS | {"tilt": {"rate": 0.2}, "study": {"weighting": [{"weighting": "rosset"}]}},
        "tilt and the weights rosset stand together",
    ),
    (BLANKS | {"score": "few.csv", "columns": {"keep": ["sex"]}}, "new rows need it, too"),
    (BLANKS | {"keep_rate": "rat"}, "which keep_rate names"),
    (
        BLANKS | {"reading": {"encoding": "utf9"}},
        "reading.encoding is 'utf9', which is no encoding",
    ),
    (
        BLANKS | {"columns": {"ignore": HEADERS["people.csv"].replace(",y,", ",").split(",")}},
        "people.csv has no column that could be learned from",
    ),
    (BLANKS | {"columns": {"missing": {"age": None}}}, "columns.missing.age must be of type"),
    (BLANKS | {"keep_rate": 0.5, "user": "usr"}, "which user names"),
    (OFFERS | {"offer": {"column": "price"}}, "which offer names"),
    (OFFERS | {"answer": {"column": "bought", "positive": 1}}, "which answer names"),
    (OFFERS | {"limits": {"revenue": "fee"}}, "which limits.revenue names"),
    (
        OFFERS | {"limits": {"quality": {"column": "grade", "least": 3}}},
        "which limits.quality names",
    ),
    (LOG | {"reward": "click"}, "which reward names (is it 'clicked'?)"),
    (LOG | {"propensity": "prob"}, "which propensity names"),
    (LOG | {"policies": {"new": "qq"}}, "which policy new names"),
    (LOG | {"policies": {"new": {"column": "tok", "action": "arm"}}}, "which policy new names"),
    (LOG | {"keep_rate": "rates"}, "which keep_rate names (is it 'rate'?)"),
    (LOG | {"reward_model": {"by": ["devise"]}}, "which reward_model.by names (is it 'device'?)"),
    (LOG | {"score": "new.csv"}, "new.csv has no column 'p', which propensity names"),
    (SCORED | {"predictions": {"one": "p", "two": "pp"}}, "which predictions two names"),
    (SCORED | {"weight": "w"}, "which weight names"),
    (PANEL | {"balance": ["sex", "regio"]}, "which balance names"),
    (PANEL | {"release": ["leaf", "town"]}, "which release names"),
    (PANEL | {"score": "no_id.csv"}, "no_id.csv has no column 'id', which id names"),
    (PROMISES | {"groups": {"a": {"gender": "f"}}}, "which groups names"),
    (PROMISES | {"deployed": {"column": "decided"}}, "which decision names"),
    (PROMISES | {"scores": "scores"}, "which scores names (is it 'score'?)"),
    (
        PROMISES | {"score": "few.csv", "repair": "by_group"},
        "few.csv has no column 'sex', which groups names",
    ),
]


def checked_by_header(given, folder, monkeypatch, capsys):
    """What is said of a config whose tables have headers and nothing that could be learned."""
    for name, header in HEADERS.items():
        row = ",".join("1" for _ in header.split(","))
        (folder / name).write_bytes(f"{header}\n{row}\n".encode())
    monkeypatch.chdir(folder)
    (folder / "mine.yaml").write_text(yaml.safe_dump(given))
    status = reading.main(["mine.yaml"])
    told = capsys.readouterr()
    return status, told.out, told.err


@pytest.mark.parametrize(("given", "sentence"), BY_HEADER)
def test_what_a_header_tells_is_told_before_anything_runs(
    given, sentence, tmp_path, monkeypatch, capsys
):
    status, _, told = checked_by_header(given, tmp_path, monkeypatch, capsys)
    assert status == 1 and sentence in told and told.count("\n") == 1


@pytest.mark.parametrize(
    "given",
    [
        BLANKS,
        BLANKS | {"weights": HECKMAN | {"exclusion": "branch=a"}},
        OFFERS,
        LOG,
        SCORED,
        PANEL,
        PROMISES,
    ],
)
def test_a_header_with_all_names_is_fine(given, tmp_path, monkeypatch, capsys):
    assert checked_by_header(given, tmp_path, monkeypatch, capsys)[0] == 0
    if given not in (LOG, SCORED):
        status, _, told = checked_by_header(
            given | {"id": "id", "score": "others.csv"}, tmp_path, monkeypatch, capsys
        )
        assert status == 1 and "others.csv has no column" in told


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_new_rows_without_a_feature_are_refused_before_anything_runs(name, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"no": np.arange(100) + 1000, "age": rng.integers(20, 60, 100)})
    frame["seen"] = rng.choice(["yes", "no"], 100)
    frame["paid"] = (rng.random(100) < 0.5).astype(int)
    frame["left"] = 1 - frame["paid"]  # a leak, which new rows cannot have
    frame.loc[:30, ["paid", "left"]] = None
    monkeypatch.chdir(tmp_path)
    write = frame.to_csv if name.endswith("csv") else frame.to_parquet
    write(name, index=False)
    given = {"table": name, "id": "no", "outcome": "paid", "score": "new.csv"}
    frame[["no", "age", "seen"]].to_csv("new.csv", index=False)
    check_headers(planned(given))
    frame[["no", "seen"]].to_csv("new.csv", index=False)
    with pytest.raises(CounterweightError, match=r"new.csv has no column age, from which .* give"):
        check_headers(planned(given))
    frame[["no", "seen"]].assign(Age=30).to_csv("new.csv", index=False)
    with pytest.raises(CounterweightError, match=r"no column age \(is it 'Age'\?\), from which"):
        check_headers(planned(given))
    check_headers(planned(given | {"columns": {"ignore": ["age"]}}))


def test_another_log_needs_no_column_of_the_reward_model(tmp_path, monkeypatch, capsys):
    given = LOG | {"reward_model": {"by": ["device"]}, "score": "another.csv"}
    monkeypatch.setitem(HEADERS, "another.csv", "clicked,p,q")
    assert checked_by_header(given, tmp_path, monkeypatch, capsys)[0] == 0


def test_promises_choose_among_candidates_and_stand_beside_logistic_regression():
    study = planned(PROMISES)["studies"]["people"]
    methods = study["methods"]
    assert list(methods) == ["logistic", "unconstrained", "promised"]
    assert (study["main"], study["baseline"]) == ("promised", "logistic")
    candidates = methods["promised"]["options"]["candidates"]
    assert candidates[0] == methods["logistic"]["options"]["candidates"][0]
    # Each has all of its options, and those that are null are chosen.
    assert candidates[0] == {"model": "logistic", "l2": None, "per_row": True}
    assert all(len(one) > 2 for one in candidates)
    assert methods["promised"]["options"]["constraints"] == PROMISES["promises"]
    assert methods["unconstrained"]["options"]["constraints"] == []


@pytest.mark.parametrize(
    "candidate, sentence",
    [
        ({"model": "logistic", "12": 1}, "12"),
        ({"model": "logistics"}, "logistic"),
        ({"model": "logistic", "l2": -1.0}, "l2"),
    ],
)
def test_mistakes_in_a_candidate_are_told(candidate, sentence):
    models = [{"model": "chosen", "name": "promised", "candidates": [candidate]}]
    models[0]["constraints"] = PROMISES["promises"]
    with pytest.raises(CounterweightError, match=sentence):
        planned(PROMISES | {"study": {"models": models}})


@pytest.mark.parametrize("rate", [0.001, 1, 1.0, "rate"])
def test_a_rate_is_above_0_and_at_most_1_or_a_column(rate):
    assert own_studies.checked_rate(rate) == rate
    assert own_studies.kept_by({"keep_rate": rate}) == {"keep_rate": rate}


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        (0, r"is 0: it is the share .* at most 1\.$"),
        (-0.1, r"is -0\.1: .* at most 1\.$"),
        (10, r"at most 1 \(10 per cent are 0\.1\)\.$"),
        (100, r"\(100 per cent are 1\)"),
        (101, r"at most 1\.$"),
        ("0,25", r"a number in a config has a point, 0\.25\.$"),
    ],
)
def test_what_is_no_rate_is_refused_with_what_was_meant(rate, told):
    with pytest.raises(CounterweightError, match=told):
        own_studies.checked_rate(rate)


def test_a_rate_of_rows_where_a_condition_holds():
    told = {"rate": 0.2, "where": {"way": "web", "kind": ["a", "b"]}}
    assert own_studies.kept_by({}) == {}
    assert own_studies.kept_by({"keep_rate": told}) == {
        "keep_rate": 0.2,
        "kept_where": {
            "all": [{"column": "way", "value": "web"}, {"column": "kind", "values": ["a", "b"]}]
        },
    }
    drawn = {"rate": 0.2, "where": {"column": "way", "value": "web", "most": 5}}
    with pytest.raises(CounterweightError, match="keep_rate.where has most"):
        own_studies.kept_by({"keep_rate": drawn})


def test_a_condition_of_one_column_stands_alone():
    assert own_studies.condition_of({"sex": "f"}) == {"column": "sex", "value": "f"}
    assert own_studies.condition_of({"age": {"at_least": 60}}) == {"column": "age", "at_least": 60}
    written = {"column": "age", "at_most": 9}
    assert own_studies.condition_of(written) == written
    groups = {"a": {"sex": "f"}, "b": {"sex": "m", "age": {"at_least": 60}}}
    assert own_studies.columns_of({k: own_studies.condition_of(v) for k, v in groups.items()}) == [
        "sex",
        "age",
    ]


@pytest.mark.parametrize(("low", "high", "fine"), [(0, 1, True), (1, 1, False), (2, 1, False)])
def test_the_least_reward_is_below_the_largest(low, high, fine):
    reward = {"column": "r", "low": low, "high": high}
    if fine:
        assert own_studies.checked_reward(reward) == reward
        assert own_studies.checked_reward("r") == {"column": "r"}
    else:
        with pytest.raises(CounterweightError, match="low must be below high"):
            own_studies.checked_reward(reward)


def test_measures_of_promises_are_their_rates_and_ratios_each_once():
    found = own_studies._measured(["coverage(a) >= 0.8 * coverage(b)", "recall(a) >= 0.5"])
    assert found["promise_1"] == "coverage(a) / coverage(b)" and "promise_2" not in found
    assert sorted(found.values()) == sorted(
        ["coverage(a) / coverage(b)", "coverage(a)", "coverage(b)", "recall(a)"]
    )
    twice = own_studies._measured(["coverage(a) >= 0.5", "coverage(a) <= 0.9"])
    assert list(twice.values()) == ["coverage(a)"] and own_studies._measured(["no("]) == {}


def test_promises_of_a_log_are_about_all_rows_that_there_were():
    texts = ["coverage(women) >= 0.8 * coverage(everyone)", "recall(women) >= 0.5"]
    assert own_studies._of_all_rows(texts, ["women"]) == [
        "coverage(women & labeled) >= 0.8 * coverage(everyone & labeled)",
        "recall(women & labeled) >= 0.5",
    ]


def test_a_log_may_tell_how_many_rows_there_were():
    kept = {"keep_rate": 0.1, "rows_before": 900}
    assert own_studies._kept_log(kept) == {"rule": "kept_log"} | kept
    assert own_studies._kept_log({"keep_rate": 0.1}) == {"rule": "kept_log", "keep_rate": 0.1}
    for key in ("deployed", "labeled"):
        with pytest.raises(CounterweightError, match=f"leave {key} or keep_rate out"):
            own_studies._kept_log({"keep_rate": 0.1, key: "c"})


def test_a_filter_is_chosen_among_more_careful_ones_and_two_sizes_of_leaves():
    study = own_studies.balanced({"balance": "sex", "alpha": 0.4})
    (first, second) = study["selection"]
    assert first["alphas"][0] == 0 and max(first["alphas"]) == 0.4
    assert first["alphas"] == sorted(first["alphas"]) == second["alphas"]
    assert (first["min_weight_fraction_leaf"], second["min_weight_fraction_leaf"]) == (0.1, 0.25)
    assert study["test_share"] == 0.5 and study["filter"]["certified"]["alpha"] == 0.4
    chosen = own_studies.balanced({"balance": ["sex"], "certified": False})
    assert chosen["test_share"] == pytest.approx(1 / 3) and "certified" not in chosen["filter"]
    assert chosen["filter"]["chosen"]["level"] == 0.95
    with pytest.raises(CounterweightError, match="release names 'sex'"):
        own_studies.balanced({"balance": ["sex"], "release": ["leaf", "sex"]})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("covrage(a) >= 0.8 * coverage(b)", "^promises: In 'covrage.* did you mean coverage"),
        ("coverage(c) >= 0.8 * coverage(b)", "^promises: There is no data set 'c'"),
        ("coverage(a) >= kappa * coverage(b)", "^promises: 'kappa' has no value"),
        ("coverage(a) >= 80 * coverage(b)", "^promises: .* 80 is no share, and no factor"),
        ("recall(everyone) >= 60", "^promises: .*no decisions can keep it"),
    ],
)
def test_a_promise_that_cannot_be_meant_is_told_at_its_key(text, told):
    entry = {"outcome": "y", "groups": {"a": {"g": "F"}, "b": {"g": "M"}}}
    with pytest.raises(CounterweightError, match=told):
        own_studies.promised(entry | {"promises": ["coverage(a) >= 0.5 * coverage(b)", text]})


@pytest.mark.parametrize(
    ("first", "second", "slack", "apart"),
    [
        ("coverage(everyone) >= 0.6", "coverage(everyone) <= 0.4", 0, True),
        ("0.6 <= coverage(everyone)", "0.4 >= coverage(everyone)", 0, True),
        ("coverage(everyone) >= 0.6", "coverage(everyone) <= 0.4", 0.1, False),
        ("coverage(everyone) >= 0.4", "coverage(everyone) <= 0.6", 0, False),
        ("coverage(a) >= 0.6", "coverage(everyone) <= 0.4", 0, False),
    ],
)
def test_promises_that_exclude_each_other_are_told_before_a_run(first, second, slack, apart):
    entry = {"outcome": "y", "groups": {"a": {"g": "F"}}, "slack": slack}
    entry["promises"] = [first, second, "coverage(a) >= 0.1"]
    if not apart:
        assert own_studies.promised(entry)
        return
    with pytest.raises(CounterweightError, match="^promises: No decisions keep both ") as told:
        own_studies.promised(entry)
    assert first in str(told.value) and second in str(told.value)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"a": {"age": {"at_least": "50"}}}, "^groups.a.at_least must be of type number"),
        ({"a": {"age": {"at_most": 50}}}, "^groups.a.at_most is no key: write below"),
        ({"all women": {"g": "F"}}, "The group 'all women' is named in promises: begin with"),
    ],
)
def test_mistakes_in_groups_are_told_under_their_own_key(groups, message):
    entry = {"outcome": "y", "groups": groups, "promises": ["coverage(a) >= 0.5"]}
    with pytest.raises(CounterweightError, match=message):
        own_studies.promised(entry)


@pytest.mark.parametrize(
    ("promises", "changed", "told"),
    [
        (["coverage(a) >= 0.5", "coverage(old) <= 0.5"], {}, None),
        (["coverage(a) >= 0.5"], {}, ["age"]),
        # A column of a group that a promise names, and one with another role, are told by that.
        (["coverage(everyone) >= 0.5"], {}, ["g", "age"]),
        (["coverage(a) >= 0.5"], {"models": [{"constraints": ["recall(old) >= 0.1"]}]}, None),
    ],
)
def test_columns_of_groups_that_no_promise_names_have_a_role_of_their_own(promises, changed, told):
    groups = {"a": {"g": "F"}, "b": {"g": "M"}, "old": {"age": {"at_least": 60}}, "c": {"y": 1}}
    entry = {"outcome": "y", "groups": groups, "promises": promises}
    roles = own_studies.promised(entry | ({"study": changed} if changed else {}))["roles"]
    assert roles["groups"] == ["g", "age", "y"] and roles.get("groups.unpromised") == told


def test_a_promise_may_ask_for_many_times_a_rate():
    entry = {"outcome": "y", "groups": {"a": {"g": "F"}, "b": {"g": "M"}}}
    assert own_studies.promised(entry | {"promises": ["false_positive_rate(a) <= 19 * error(b)"]})
