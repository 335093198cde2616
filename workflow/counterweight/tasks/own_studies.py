"""Studies that are made of tables of one's own (see `counterweight.plan.own`), by what is asked."""

import contextlib
import difflib
import re

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.rates.language import (
    RATES,
    Number,
    Rate,
    check_text,
    nodes,
    parse_constraint,
    rates,
    slackened,
)
from counterweight.plan import components
from counterweight.plan.mistakes import condition_mistakes, nearest, refuse_all
from counterweight.plan.tasks import module_of
from counterweight.tasks.beside_answers import own_groups

#: Words of a condition that is written out; see `counterweight.labeling.columns`.
WRITTEN_OUT = ("column", "all")

#: Limits of the filters that held-out rows choose among, in parts of the one that is wanted.
PARTS_OF_ALPHA = (0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Classifiers that promises choose from, the first of which is the one that others are compared
#: with: of the outcome, with thresholds, and those that are fitted under the promises.
LOGISTIC = {"model": "logistic", "l2": None}
UNDER_PROMISES = (
    LOGISTIC,
    {"model": "gradient_boosting", "max_iter": None, "max_leaf_nodes": None},
    {"model": "constrained", "standardise": True, "loss": "hinge"},
    {"model": "constrained", "standardise": True, "start": "zero", "steps": 6},
)
#: Numbers of a promise from which they must be per cent.
IN_PER_CENT = 20
#: What is measured beside a rule in use.
BESIDE_DEPLOYED = {
    "churn": "churn(everyone)",
    "recall": "recall(labeled)",
    "win_rate": "win_rate(labeled)",
    "loss_rate": "loss_rate(labeled)",
}
#: Cells of groups with fewer people are told without shares.
LEAST_CELL = 10
#: Rows by which columns are judged that new rows lack.
LOOKED_AT = 200_000
#: The models that are compared, as a study has them.
LINEAR = {"model": "logistic", "name": "linear", "label": "Linear model"}
LINEAR |= {"l2": 1.0, "per_row": False}
BOOSTED = {"model": "gradient_boosting", "name": "boosting", "label": "Gradient boosting"}
BOOSTED |= {"max_bins": 255}


def of_classifiers(entry):
    """Promised decisions, or chances learned from a log that dropped zeros."""
    return promised(entry) if "promises" in entry else chances(entry)


def check_method(key, method, methods):
    """Refuse a method that a key of a study names and the study does not have."""
    if method not in methods:
        raise CounterweightError(
            f"{key} is {method!r}, which is none of its methods"
            f"{nearest(method, methods) or '.'} Methods: {', '.join(methods)}."
        )


def checked_rate(rate):
    """A keep rate as it was given, a number or a column; refused if it is no rate."""
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


def kept_by(entry):
    """Options of a labeling rule that say which rows of reward 0 were kept, from an entry's
    ``keep_rate``: a rate, the column of rates, or a mapping of ``rate`` and ``where``."""
    if "keep_rate" not in entry:
        return {}
    told = entry["keep_rate"]
    if not isinstance(told, dict):
        return {"keep_rate": checked_rate(told)}
    where = condition_of(told["where"])
    refuse_all(condition_mistakes(("keep_rate", "where"), where))
    if "most" in where:
        raise CounterweightError(
            "keep_rate.where has most, and rows are not drawn here: leave it out."
        )
    return {"keep_rate": checked_rate(told["rate"]), "kept_where": where}


def refuse_columns(entry, what):
    """Refuse words on single columns of an entry: `what` is read part by part, by roles alone."""
    said = [key for key, told in (entry.get("columns") or {}).items() if told]
    strange = [key for key in said if key not in ("ignore", "keep")]
    if strange:
        raise CounterweightError(
            f"columns.{strange[0]} has no meaning for {what}, whose columns are read as their "
            "roles ask: leave it out, and say of all columns how numbers are written by reading."
        )


def checked_reward(reward):
    """A reward as a mapping, its least below its largest.

    Raises
    ------
    CounterweightError
    """
    reward = {"column": reward} if isinstance(reward, str) else reward
    low, high = reward.get("low"), reward.get("high")
    numbers = [isinstance(end, int | float) for end in (low, high)]
    if all(numbers) and not low < high:
        raise CounterweightError(
            f"reward.low is {low} and reward.high {high}: low must be below high."
        )
    return reward


def chances(entry):
    """Classifiers that learn from a log whose zeros were kept at a rate, for all its rows."""
    if "weight" in entry:
        raise CounterweightError(
            "A log that dropped zeros has no further weights here: leave weight out, or give each "
            "row's rate as the column of keep_rate."
        )
    outcome, kept = entry["outcome"], kept_by(entry)
    rate = kept["keep_rate"]
    outcome = {"column": outcome} if isinstance(outcome, str) else dict(outcome)
    number = outcome.get("kind") == "number"
    labeling = {"rule": "kept_numbers" if number else "kept_log"} | kept
    labeling |= {"rows_before": entry["rows_before"]} if "rows_before" in entry else {}
    learned = {"model": "subsampled", "keep_rate": 1.0}
    roles = {"outcome": outcome, "user": entry.get("user")}
    roles |= {"keep_rate": rate} if isinstance(rate, str) else {}
    if number:
        return _numbers(outcome, labeling, roles)
    tops = [1.0, *entry.get("top", (0.1, 0.01, 0.001))]
    return {
        "roles": roles,
        "repeats": 1,
        "test_share": 0.3,
        "features": {"recipe": "one_hot"},
        "outcome": _known_class(outcome),
        "labeling": labeling,
        "user": entry.get("user"),
        "targets": ["general"],
        "evaluation": {"protocol": "metrics", "against": "logistic", "top": tops},
        "columns": ["auc", "log_loss", "brier", "calibration_error"],
        "models": [
            learned | {"name": "boosting", "label": "Gradient boosting", "learner": "boosting"},
            learned | {"name": "logistic", "label": "Logistic regression", "learner": "logistic"},
        ],
        "main": "boosting",
        "baseline": "logistic",
        "figures": ["predictions"],
        "deliver": {"among": ["logistic", "boosting"]},
    }


def _known_class(outcome):
    """The outcome rule of two classes, some of which may be missing."""
    if "most" in outcome:
        raise CounterweightError(
            "outcome.most is the largest value of a number, and this outcome is one of two values: "
            "leave most out."
        )
    told = {"rule": "known_class", "column": outcome["column"], "value": outcome.get("positive")}
    return told | {key: outcome[key] for key in ("negative", "missing") if key in outcome}


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
            LINEAR | {"label": f"{LINEAR['label']}, weighted"},
            BOOSTED | {"label": f"{BOOSTED['label']}, weighted"},
        ],
        "evaluation": {"protocol": "cross_validation"},
        "figures": ["predictions"],
        "question": f"How large is {outcome['column']} on average, in the log as it was?",
    }


def promised(entry):
    """Decisions that keep promises about rates, logistic regression that does, and one without."""
    outcome, decision, scores = (
        {"column": told} if isinstance(told, str) else dict(told or {})
        for told in (entry["outcome"], entry.get("deployed"), entry.get("scores"))
    )
    if "weight" in entry:
        raise CounterweightError(
            "Promises are about rows, each of which counts once: leave weight out, or draw rows of "
            "the table by their weights first."
        )
    groups = {name: condition_of(told) for name, told in (entry.get("groups") or {}).items()}
    for name, told in groups.items():
        if not name.isidentifier():
            raise CounterweightError(
                f"The group {name!r} is named in promises: begin with a letter, and use letters, "
                "figures and _ only."
            )
        refuse_all(condition_mistakes(("groups", name), told))
    where, promises = (entry.get("labeled") or {}).get("where"), entry["promises"]
    _check_promises(promises, groups, entry.get("slack", 0))
    labeling = {"rule": "answered", "column": outcome["column"]}
    labeling |= {"where": condition_of(where)} if where else {}
    if "keep_rate" in entry:
        labeling, promises = _kept_log(entry), _of_all_rows(promises, groups)
    slack = entry.get("slack", 0)
    promises = [plain for text in promises for plain in slackened(text, slack)]
    measures = {"error": "error(labeled)"} | _measured(promises)
    if not decision:
        _refuse_deployed(promises)
    if decision:
        labeling |= {"decision": decision["column"], "decided": decision.get("positive", 1)}
        named = {"refused": "negative", "undecided": "missing"}
        labeling |= {key: decision[said] for key, said in named.items() if said in decision}
        measures |= BESIDE_DEPLOYED
    asked = {key: entry[key] for key in ("repair", "confidence", "held_out") if key in entry}
    asked = {"constraints": promises} | asked
    if scores:
        model = {"model": "given_scores", "above": scores.get("above")}
        features = {"recipe": "one_hot", "only": [scores["column"]]}
        models = [
            model | {"name": "unconstrained", "label": "The score without promises"},
            model | {"name": "promised", "label": "The score with promises"} | asked,
        ]
    else:
        features = {"recipe": "one_hot"}
        plain = {"model": "chosen", "candidates": [LOGISTIC]}
        label = "Logistic regression"
        models = [
            plain | {"name": "logistic", "label": f"{label} with promises"} | asked,
            plain | {"name": "unconstrained", "label": f"{label} without promises"},
            {"model": "chosen", "candidates": list(UNDER_PROMISES)}
            | {"name": "promised", "label": "The classifier with promises"}
            | asked,
        ]
    # The columns of groups and old decisions are no features: nobody needs them of new people.
    roles = {
        "outcome": outcome,
        "labeled": entry.get("labeled") or {},
        "groups": columns_of(groups),
        "keep_rate": rate if isinstance(rate := labeling.get("keep_rate"), str) else None,
        "decision": decision.get("column"),
        "scores": scores.get("column"),
    }
    return {
        "roles": roles | _unpromised(entry, groups, roles),
        "repeats": 5,
        "test_share": 0.3,
        "features": features,
        "outcome": _known_class(outcome),
        "labeling": labeling,
        "targets": ["general"],
        "samples": groups,
        "evaluation": {"protocol": "rates", "measures": measures},
        "columns": ["accuracy", "balanced_accuracy"],
        "models": models,
        # Others are compared with the first.
        "main": "promised",
        "figures": [
            "kept",
            *["rehearsal"] * ("rehearse" in entry),
            *["promises"] * bool(entry.get("confidence")),
        ],
        "deliver": {"method": "promised"},
    }


def _kept_log(entry):
    """The labeling of a log that kept a part of its zeros, of which promises are made."""
    for key, why in {
        "deployed": "nothing is known of old decisions on the rows that were lost",
        "labeled": "every outcome is seen",
    }.items():
        if key in entry:
            raise CounterweightError(
                f"Of a log that kept a part of its rows {why}: leave {key} or keep_rate out."
            )
    before = {"rows_before": entry["rows_before"]} if "rows_before" in entry else {}
    return {"rule": "kept_log"} | kept_by(entry) | before


def _of_all_rows(promises, groups):
    """Promises of a log that kept a part of its zeros, about all the rows that there were.

    Rows weigh 1 / keep rate in rates on ``labeled``, and each has its outcome.
    """
    names = "|".join(map(re.escape, ("everyone", *groups)))
    return [re.sub(rf"\b({names})\b(?!\s*\()", r"\1 & labeled", text) for text in promises]


def _check_promises(promises, groups, slack=0.0):
    """Refuse what cannot be read as a promise, at the key where it stands, or to be kept at all."""
    for text in promises:
        try:
            check_text(text, constraint=True, trained=True, sets=groups, parameters=())
        except CounterweightError as error:
            raise CounterweightError(f"promises: {error}") from error
        sides = (side for one in parse_constraint(text) for side in (one.left, one.right))
        most = max((number.value for side in sides for number in nodes(side, Number)), default=0)
        if most >= IN_PER_CENT:
            raise CounterweightError(
                f"promises: In {text!r} {most:g} is no share, and no factor of one: four fifths "
                "are 0.8."
            )
    wanted, allowed = {}, {}
    for one in (one for text in promises for one in parse_constraint(text)):
        above = (one.sign == ">=") == isinstance(one.left, Rate)
        rate, limit = (one.left, one.right) if isinstance(one.left, Rate) else (one.right, one.left)
        if isinstance(rate, Rate) and isinstance(limit, Number):
            (wanted if above else allowed).setdefault(str(rate), []).append((limit.value, one.text))
    for rate in wanted.keys() & allowed.keys():
        (least, one), (most, other) = max(wanted[rate]), min(allowed[rate])
        if least > most + 2 * slack:
            raise CounterweightError(
                f"promises: No decisions keep both {one!r} and {other!r}: correct one of them."
            )


def _unpromised(entry, groups, roles):
    """Columns of groups alone that no promise names, as a role; none where there are none.

    They are no features either, since a person who names a group may rely on that; so it is told.
    """
    used = set(re.findall(r"\w+", str(entry.get("study", ""))))
    for one in (one for text in entry["promises"] for one in parse_constraint(text)):
        for rate in [*rates(one.left), *rates(one.right)]:
            used.update(*rate.sets)
    others = components.columns_by_role(roles | {"groups": None, "id": entry.get("id")}).values()
    away = {name for held in others for name in ([held] if isinstance(held, str) else held)}
    away.update(columns_of({name: told for name, told in groups.items() if name in used}))
    rest = [column for column in columns_of(groups) if column not in away]
    return {"groups.unpromised": rest} if rest else {}


def _refuse_deployed(promises):
    """Refuse promises that compare with a rule in use where nobody names its decisions."""
    for text in promises:
        sides = (side for one in parse_constraint(text) for side in (one.left, one.right))
        for rate in (rate for side in sides for rate in nodes(side, Rate)):
            if rate.deployed or RATES[rate.name].deployed:
                raise CounterweightError(
                    f"The promise {text!r} compares with a rule in use: name the column of its "
                    "decisions by deployed."
                )


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
    certified = entry.get("certified", True)
    # Rows that are held out choose among more careful filters, and among sizes of leaves.
    alphas = [0.0, *(alpha * part for part in PARTS_OF_ALPHA)]
    proxy = {"selector": "split_tree", "alphas": [round(float(one), 10) for one in alphas]}
    proxy |= {"min_samples_leaf": 100}
    sizes = {"leaves_10": 0.1, "leaves_25": 0.25}
    proxies = [proxy | {"name": name, "min_weight_fraction_leaf": s} for name, s in sizes.items()]
    model = {"model": "balanced_filter", "weights": "quadratic"}
    # The name on the card is that on the page.
    models = [
        model
        | {"name": name, "selector": name, "label": f"{name} (leaves of {100 * s:g} % or more)"}
        for name, s in sizes.items()
    ]
    limits = {
        name: entry[name] for name in ("min_acceptance_rate", "max_distortion") if name in entry
    }
    method, *others = sizes
    given = {"method": method, "release": entry.get("release", [])}
    untold = [one for one in given["release"] if one in ("accepted", entry.get("id"), *groups)]
    if untold:
        raise CounterweightError(
            f"release names {untold[0]!r}: the id and accepted are released without, and columns "
            "of the groups are what a filter keeps to itself."
        )
    given["min_cell_count"] = entry.get("min_cell_count", LEAST_CELL)
    given |= {name: entry[name] for name in ("epsilon",) if name in entry}
    limit = {"alpha": alpha, "level": entry.get("confidence", 0.95), "among": others}
    bought = own_groups(entry)
    given["certified" if certified else "chosen"] = limit
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
        "figures": [*bought.pop("figures"), "groups", *["rehearsal"] * ("rehearse" in entry)],
        "filter": given,
    } | bought


def condition_of(told):
    """A condition as the key ``samples`` has it.

    It is told as ``{sex: Female}``, ``{sex: [Female, Other], branch: north}`` (all at once),
    ``{age: {at_least: 60}}``, or written out (with ``column`` or ``all``).
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
    every = (name for told in groups.values() for name in components.columns_of_condition(told))
    return list(dict.fromkeys(every))


def check_headers(plan):
    """Refuse what the headers of tables of one's own, and of files of new rows, speak against.

    Of a log that dropped zeros the outcomes are looked at, too: none may be missing. Of a query its
    text and address are looked at, since it would have to be asked, of a folder the first part, of
    a partitioned log which files it has; of a table whose new rows lack columns the first rows say
    whether they are features.
    """
    from counterweight.datasets.own_table import check_columns
    from counterweight.datasets.queries import check_query

    for study in plan["studies"].values():
        dataset = plan["datasets"][study["dataset"]]
        if "query" in dataset:
            check_query(**dataset["query"])
        module_of(study).parts(plan, study)
        path, reading = dataset.get("path"), dataset.get("reading") or {}
        if not path or not dataset.get("roles"):
            continue
        names = _names(path, "correct the path of the table in the config", reading)
        check_columns(path, names, dataset.get("columns") or {})
        for key, wanted in _named(dataset, study).items():
            _refuse_absent(path, names, key, wanted)
        kept = study["labeling"]["options"].get("kept_where") or {}
        _refuse_absent(path, names, "keep_rate.where", components.columns_of_condition(kept))
        _check_target(study, path, names, reading)
        if {"outcome", "offer", "balance"} & dataset["roles"].keys():
            _check_weightings(study, path, names, _features(study, dataset, names))
        if "outcome" in dataset["roles"] and "keep_rate" in study["labeling"]["options"]:
            _refuse_blanks(path, dataset["roles"]["outcome"]["column"], reading)
        if study.get("score"):
            _of_new_rows(study, dataset, names, reading)


def _names(path, absent, reading):
    from counterweight.tables.table_reader import check_header, header_of

    names = [name for name in header_of(path, absent=absent, reading=reading) if name.strip()]
    check_header(path, names)
    return names


def _named(dataset, study):
    """Columns of the table that the config names, by the key that does."""
    from counterweight.delivery.saved_filters import DECIDED

    found = {
        role: [names] if isinstance(names, str) else list(names)
        for role, names in components.columns_by_role(dataset["roles"]).items()
    }
    if "offer" in found:
        found["offer.where"] = list(study["labeling"]["options"].get("where") or ())
    found["scores"] = study["features"]["options"].get("only") or []
    for spec in study["methods"].values():
        found["reward_model.by"] = spec["options"].get("reward_by") or []
    for key, told in (study.get("limits") or {}).items():
        if isinstance(told, dict) and "column" in told:
            found[f"limits.{key}"] = [told["column"]]
        elif key == "revenue" and isinstance(told, str):
            found["limits.revenue"] = [told]
    for key in ("cost", "by"):
        if told := (study.get("collect") or {}).get(key):
            found.pop(f"collect.{key}", None)
            found[f"collect.{key}"] = [told]
    if told := (study.get("explore") or {}).get("by"):
        found["explore.by"] = [told]
    released = (study.get("filter") or {}).get("release") or []
    return found | {"release": [name for name in released if name not in DECIDED]}


def _refuse_absent(path, names, key, wanted, todo="correct the name"):
    for name in wanted:
        if name not in names:
            raise CounterweightError(
                f"{path} has no column {name!r}, which {key} names{_close(name, names)}; it has "
                f"{listed(names, 30)}: {todo}."
            )


def _close(name, names):
    close = [other for other in names if other.strip().lower() == str(name).lower()]
    close = close or difflib.get_close_matches(str(name), names, 1, 0.6)
    return f" (is it {close[0]!r}?)" if close else ""


def _features(study, dataset, names):
    """Columns that may be learned from, by their names; refused where there is none."""
    columns, roles = dataset.get("columns") or {}, _named(dataset, study)
    out = {*columns.get("ignore", ())} | {name for held in roles.values() for name in held}
    found = [name for name in names if name not in out or name in columns.get("keep", ())]
    found += roles["scores"]
    if not found:
        raise CounterweightError(
            f"{dataset['path']} has no column that could be learned from: {listed(names, 30)} have "
            "roles or are ignored. Ignore fewer, or give a table with more columns."
        )
    return found


def _refuse_blanks(path, column, reading):
    """Refuse a log that dropped zeros and has rows without an outcome; all of it is read."""
    from counterweight.datasets.own_table import first_blank
    from counterweight.labeling.logs import BLANK

    if place := first_blank(path, column, reading):
        raise CounterweightError(f"{path}, {place}: the outcome {column!r} is missing, {BLANK}")


def _check_target(study, path, names, reading):
    """Refuse columns of a target of its own that the table, or the file of the target, lacks."""
    for spec in study["weightings"].values():
        options = spec["options"]
        by = options.get("columns") or []
        _refuse_absent(path, names, "target.columns", by)
        _refuse_absent(path, names, "target.margins", options.get("margins") or ())
        if options.get("table"):
            others = _names(options["table"], "correct the path under target.table", reading)
            _refuse_absent(options["table"], others, "target.columns", by)
            weight = options.get("weight")
            _refuse_absent(options["table"], others, "target.weight", [weight] if weight else [])


def _check_weightings(study, path, names, features):
    """Refuse columns that weightings go by and that are none, or none that is learned from."""
    for spec in study["weightings"].values():
        for key in ("exclusion", "features"):
            asked = spec["options"].get(key) or []
            for name in [asked] if isinstance(asked, str) else asked:
                # A feature is called as its column, with what is meant of it behind.
                if not any(name.startswith(column) for column in names):
                    _refuse_absent(path, names, f"weights.{key}", [name])
                if name in names and name not in features:
                    raise CounterweightError(
                        f"weights.{key} names {name!r}, from which nothing is learned: it has a "
                        "role, or is ignored. Name another column."
                    )


def _of_new_rows(study, dataset, names, reading):
    """Refuse new rows without what they need."""
    path, roles = study["score"], _named(dataset, study)
    new = _names(path, "give the table of new rows", reading)
    needed = {"columns.keep": (dataset.get("columns") or {}).get("keep") or ()}
    needed |= {key: held for key, held in roles.items() if key.split(".")[0] == "limits"}
    needs = getattr(components.load("task", study["task"]), "NEW_ROWS_NEED", ())
    # Another log is valued without a reward model.
    own = {key: held for key, held in roles.items() if key != "reward_model.by"}
    needed |= {key: held for key, held in own.items() if needs == "roles" or key in needs}
    if any(spec["options"].get("repair") == "by_group" for spec in study["methods"].values()):
        needed["groups"] = roles.get("groups", ())
    for key, held in needed.items():
        _refuse_absent(path, new, key, held, "new rows need it, too")
    if needs == "roles":
        return
    features = roles["scores"] or _features(study, dataset, names)
    absent = [name for name in features if name not in new]
    if len(absent) == len(features):
        _refuse_absent(path, new, "the table", absent, "name the columns as in the table")
    if absent := absent and _learned_from(dataset, names).intersection(absent):
        absent = [name for name in names if name in absent]
        near = _close(absent[0], [name for name in new if name not in names])
        raise CounterweightError(
            f"{path} has no column {listed(absent)}{near}, from which the answer would be learned: "
            f"give the new rows {'it' if len(absent) == 1 else 'them'}, or put under "
            "columns.ignore what is not to be learned from."
        )


def _learned_from(dataset, names):
    """Columns that the first rows of the table show to be features."""
    from counterweight.datasets.own_table import ABSENT, typed_table
    from counterweight.labeling.column_report import report_of
    from counterweight.tables.table_reader import is_parquet, row_batches

    path, reading, columns = (dataset.get(key) for key in ("path", "reading", "columns"))
    told = {"absent": ABSENT, "rows": LOOKED_AT, "reading": reading}
    first = next(row_batches(path, **told)).select(names)
    told = {"columns": columns, "typed": is_parquet(path), "reading": reading, "ask": False}
    typed = typed_table(path, first, **told)
    keep = (columns or {}).get("keep") or ()
    report, _ = report_of(typed.frame, vars(typed), dataset["roles"], keep)
    return {fact.column for fact in report if fact.use == "feature"}
