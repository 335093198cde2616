"""Studies that are made of tables of one's own (see `counterweight.plan.own`), by what is asked."""

import contextlib
import re

from counterweight.errors import CounterweightError
from counterweight.numerics.rates.language import parse_constraint, rates

#: Words of a condition that is written out; see `counterweight.labeling.samples`.
WRITTEN_OUT = ("column", "all")


def of_classifiers(entry):
    """Promised decisions, or chances learned from a log that dropped zeros."""
    if "keep_rate" not in entry:
        return promised(entry)
    if "promises" in entry:
        raise CounterweightError(
            "Promises about rates are not judged on rows that were kept at a rate: leave keep_rate "
            "or promises out."
        )
    return chances(entry)


def checked_rate(rate):
    """A keep rate as it was given: a number, or a column.

    Raises
    ------
    CounterweightError
        For a number with a decimal comma, or that is no rate.
    """
    if isinstance(rate, str) and re.fullmatch(r"\s*\d*,\d+\s*", rate):
        raise CounterweightError(
            f"keep_rate is {rate!r}: a number in a config has a point, {rate.replace(',', '.')}."
        )
    if isinstance(rate, int | float) and not 0 < rate <= 1:
        share = f" ({rate:g} per cent are {rate / 100:g})" if 1 < rate <= 100 else ""
        raise CounterweightError(
            f"The keep rate is {rate:g}: it is the share of the rows without reward that were "
            f"kept, a number above 0 and at most 1{share}."
        )
    return rate


def chances(entry):
    """Classifiers that learn from a log whose zeros were kept at a rate, for all its rows."""
    if "weight" in entry:
        raise CounterweightError(
            "A log that dropped zeros has no further weights here: leave weight out, or give each "
            "row's rate as the column of keep_rate."
        )
    outcome, rate = entry["outcome"], checked_rate(entry["keep_rate"])
    outcome = {"column": outcome} if isinstance(outcome, str) else dict(outcome)
    number = outcome.get("kind") == "number"
    labeling = {"rule": "kept_numbers" if number else "kept_log", "keep_rate": rate}
    labeling |= {"rows_before": entry["rows_before"]} if "rows_before" in entry else {}
    learned = {"model": "subsampled", "keep_rate": 1.0}
    roles = {"outcome": outcome, "user": entry.get("user")}
    roles |= {"keep_rate": rate} if isinstance(rate, str) else {}
    if number:
        return _numbers(outcome, labeling, roles)
    return {
        "roles": roles,
        "repeats": 1,
        "test_share": 0.3,
        "features": {"recipe": "one_hot"},
        "outcome": {
            "rule": "known_class",
            "column": outcome["column"],
            "value": outcome.get("positive"),
        },
        "labeling": labeling,
        "user": entry.get("user"),
        "targets": ["general"],
        "evaluation": {"protocol": "metrics", "against": "logistic", "top": [1.0, 0.1, 0.01]},
        "columns": ["auc", "log_loss", "brier", "calibration_error"],
        "models": [
            learned | {"name": "boosting", "label": "Gradient boosting", "learner": "boosting"},
            learned | {"name": "logistic", "label": "Logistic regression", "learner": "logistic"},
        ],
        "main": "boosting",
        "baseline": "logistic",
        "figures": [],
        "deliver": {"method": "boosting"},
    }


def _numbers(outcome, labeling, roles):
    """Regressors of a reward that is a number, of which zeros were dropped."""
    learned = {"model": "calibrated_numbers"}
    return {
        # Users are left out of learning as a whole, and are the independent draws.
        "roles": roles | ({"group": roles["user"]} if roles["user"] else {}),
        "features": {"recipe": "typed"},
        "outcome": {"rule": "given"} | outcome,
        "labeling": labeling,
        "targets": ["general"],
        "models": [
            # The first is kept unless another one is clearly better.
            learned | {"name": "calibrated_linear", "learner": "linear"},
            learned | {"name": "calibrated_boosting", "learner": "boosting"},
            {"model": "linear", "label": "Linear model, weighted"},
            {"model": "boosting", "label": "Gradient boosting, weighted"},
        ],
        "evaluation": {"protocol": "unseen"},
        "figures": [],
        "question": f"How much {outcome['column']} is to be expected, in the log as it was?",
    }


def promised(entry):
    """Decisions that keep promises about rates, and the same classifier without them."""
    outcome, decision, scores = (
        {"column": told} if isinstance(told, str) else dict(told or {})
        for told in (entry["outcome"], _deployed(entry), entry.get("scores"))
    )
    groups = {name: condition_of(told) for name, told in (entry.get("groups") or {}).items()}
    where = (entry.get("labeled") or {}).get("where")
    labeling = {"rule": "answered", "column": outcome["column"]}
    labeling |= {"where": condition_of(where)} if where else {}
    measures = {"error": "error(labeled)"} | _measured(entry["promises"])
    if decision:
        labeling |= {"decision": decision["column"], "decided": decision.get("positive", 1)}
        measures |= {
            "churn": "churn(everyone)",
            "recall": "recall(labeled)",
            "win_rate": "win_rate(labeled)",
            "loss_rate": "loss_rate(labeled)",
        }
    asked = {key: entry[key] for key in ("repair", "confidence", "held_out") if key in entry}
    if scores:
        model = {"model": "given_scores", "above": scores.get("above", 0.5)}
        promised = {"constraints": entry["promises"]} | asked
        features = {"recipe": "one_hot", "only": [scores["column"]]}
        words = "scores"
    else:
        model = {"model": "constrained", "standardise": True}
        promised = {"constraints": entry["promises"], "start": "best", "steps": 20} | asked
        features, words = {"recipe": "one_hot"}, "classifier"
    return {
        # The columns of groups and old decisions are no features: nobody needs them of new people.
        "roles": {
            "outcome": outcome,
            "labeled": entry.get("labeled") or {},
            "groups": columns_of(groups),
            "decision": decision.get("column"),
        },
        "repeats": 5,
        "test_share": 0.3,
        "features": features,
        "outcome": {
            "rule": "known_class",
            "column": outcome["column"],
            "value": outcome.get("positive"),
        },
        "labeling": labeling,
        "targets": ["general"],
        "samples": groups,
        "evaluation": {"protocol": "rates", "measures": measures},
        "columns": ["accuracy", "balanced_accuracy"],
        "models": [
            model | {"name": "unconstrained", "label": f"The {words} without promises"},
            model | {"name": "promised", "label": f"The {words} with promises"} | promised,
        ],
        "main": "promised",
        "baseline": "unconstrained",
        "figures": [],
        "deliver": {"method": "promised"},
    }


def _deployed(entry):
    """Old decisions: ``deployed``, or ``decision``, which means the same here."""
    if "deployed" in entry and "decision" in entry:
        raise CounterweightError(
            "deployed and decision both name the column of old decisions: leave one of them out."
        )
    return entry.get("deployed", entry.get("decision"))


def _measured(promises):
    """Measures that tell of each promise whether it is kept: its rates, and their ratio.

    A text that cannot be read is told where models are checked.
    """
    measures = {}
    made = []
    for text in promises:
        with contextlib.suppress(CounterweightError):
            made += parse_constraint(text)
    for number, promise in enumerate(made, 1):
        sides = [list(dict.fromkeys(rates(side))) for side in (promise.left, promise.right)]
        if all(len(side) == 1 for side in sides):
            measures[f"promise_{number}"] = f"{sides[0][0]} / {sides[1][0]}"
        every = [str(rate) for side in sides for rate in side]
        measures |= {f"rate_{number}_{at}": rate for at, rate in enumerate(every, 1)}
    firsts = {text: name for name, text in reversed(measures.items())}
    return {name: text for name, text in measures.items() if firsts[text] == name}


def balanced(entry):
    """A filter that balances groups, within a limit of what it tells about them."""
    groups, alpha = entry["balance"], entry.get("alpha", 0.1)
    groups = [groups] if isinstance(groups, str) else groups
    certified, method = entry.get("certified", False), "balanced_filter-quadratic"
    # A certified filter is chosen among more careful ones, too.
    alphas = [0.0, *(alpha * part for part in ((0.25, 0.5, 0.75, 1.0) if certified else (1.0,)))]
    proxy = {"selector": "split_tree", "alphas": [round(float(one), 10) for one in alphas]}
    proxy |= {"smallest_leaf": 0.1, "smallest_leaf_rows": 100}
    proxies, models = [proxy], [{"model": "balanced_filter", "weights": "quadratic"}]
    limits = {name: entry[name] for name in ("least_accepted", "most_distorted") if name in entry}
    if certified:
        # Rows that are held out choose among sizes of leaves, too.
        sizes = {"leaves_10": 0.1, "leaves_25": 0.25}
        proxies = [proxy | {"name": name, "smallest_leaf": s} for name, s in sizes.items()]
        models = [models[0] | {"name": name, "selector": name} for name in sizes]
        method, *others = sizes
    given = {"method": method, "release": entry.get("release", [])}
    given |= {name: entry[name] for name in ("epsilon", "least_cell") if name in entry}
    if certified:
        given["certified"] = {"alpha": alpha, "level": entry.get("confidence", 0.95)}
        given["certified"]["among"] = others
    else:
        given["setting"] = f"alpha={round(float(alpha), 10):g}"
    return {
        # The columns of the groups are no features: nobody needs to tell them later.
        "roles": {"balance": groups},
        "test_share": 0.5 if certified else 1 / 3,
        "features": {"recipe": "one_hot"},
        "outcome": {"rule": "no_outcome"},
        "labeling": {"rule": "sensitive", "group": groups, "missing": "drop", "stratified": True},
        "targets": ["general"],
        "evaluation": {"protocol": "filtering"},
        "selection": proxies,
        "weighting": [{"weighting": "quadratic"} | limits],
        "models": [model | {"classifier": "none"} for model in models],
        "figures": [],
        "filter": given,
    }


def condition_of(told):
    """A condition as the key ``samples`` has it.

    Parameters
    ----------
    told : dict
        ``{sex: Female}``, ``{sex: [Female, Other], branch: north}`` (all at once), ``{age:
        {at_least: 60}}``, or a condition that is written out (with ``column`` or ``all``).

    Returns
    -------
    dict
    """
    if any(word in told for word in WRITTEN_OUT):
        return dict(told)
    parts = [{"column": column} | _asked(value) for column, value in told.items()]
    return parts[0] if len(parts) == 1 else {"all": parts}


def _asked(value):
    if isinstance(value, dict):
        return dict(value)
    return {"values": list(value)} if isinstance(value, list) else {"value": value}


def columns_of(groups):
    """Columns that conditions ask about, each once."""
    return list(dict.fromkeys(name for told in groups.values() for name in _columns(told)))


def _columns(condition):
    if "all" in condition:
        return [column for part in condition["all"] for column in _columns(part)]
    return [condition["column"]] if "column" in condition else []
