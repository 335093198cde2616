"""Claims of the papers, decided from the metrics by declarative rules.

A claim file states, for each claim, its kind, what it asks of its conditions (`ASKS`), and the
rules that decide it. A rule compares two quantities, left minus right, on the same splits. It
*holds* when the whole interval of the mean difference satisfies the comparison, *fails* when the
whole interval contradicts it, and is *undecided* otherwise. Rules with one label form a condition,
which holds when all of them hold. Those that the sentence of the paper does not ask for
(``beside``) are told and not counted. No verdict is written down anywhere: all of them follow from
the metrics.
"""

import difflib
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.estimate import independent_interval, paired_interval
from counterweight.plan.components import schema_path
from counterweight.reporting import wording
from counterweight.reporting.claim_quantities import (
    Measurements,
    Missing,
    Nothing,
    differences,
    draws_of,
    log_ratio,
    measure_in,
    option_values,
    places_of,
    ratios_told,
    unknown,
    values_of,
)
from counterweight.tables.parquet import PLACE

#: Verdicts of claims, from the outcomes of their conditions; see `verdict_of`.
VERDICTS = ("holds", "holds by construction", "holds where it could be decided", "depends")
VERDICTS += ("undecided", "does not hold", "cannot be tested")
#: What a claim may ask of its conditions, in print.
ASKS = {
    "all": "for all of its cases",
    "both": "all of its parts",
    "some": "for one case at least",
    "general": "in general",
}
#: Repeats that an interval of a rule takes: with fewer, what follows turns with the next split.
LEAST_SPLITS = 5
#: Draws of the repeats of each rule, with replacement, that tell how firm a verdict is.
REDRAWS = 20
#: Layout of claims.parquet.
LAYOUT = (
    *((name, "string") for name in ("id", "paper", "title", "statement", "where", "verdict")),
    *(("detail", "string"), ("effect", "float64"), ("low", "float64"), ("high", "float64")),
    *(("unit", "string"), ("splits_for", "int32"), ("splits_against", "int32")),
    *(("data", "string"), ("rules", "string"), ("kind", "string"), ("asks", "string")),
    *(("repeats", "int32"), ("same", "int32"), ("by_seed", "string")),
)
_SIDE = ("study", "source", "metric", "target", "draws", *PLACE)
_SIDE += ("aggregate", "distance_to", "within")


def _sides(rule):
    """Left and right as full mappings; a plain number stays one."""
    defaults = {key: rule[key] for key in _SIDE if key in rule}
    for name in ("left", "right"):
        side = rule[name]
        if isinstance(side, str):
            side = {"source": side}
        yield {**defaults, **side} if isinstance(side, dict) else float(side)


def unknown_names(claims, plan):
    """Names in claim rules that the plan does not have, one sentence each."""
    problems = {
        (claim["id"], position): unknown(side, plan)
        for claim in claims
        for position, rule in enumerate(claim.get("decide", ()), 1)
        for side in (() if "benchmark" in rule else _sides(rule))
        if isinstance(side, dict) and unknown(side, plan)
    }
    return [f"claim {name}, rule {at}: {problem}" for (name, at), problem in problems.items()]


def check_names(claims, plan):
    """Refuse claims that name a study or a source which the plan does not have.

    For the shipped config and tests; `decide` itself only calls such claims untestable, so that
    people can leave studies out of their own configs.
    """
    if problems := unknown_names(claims, plan):
        raise CounterweightError(f"The claims do not fit the config: {listed(problems, 3)}.")


_ROWS = {"train": "training rows", "test": "test rows"}


def _name(side, plan, rule_each=None):
    """A side in print, with its measure, setting, part and step; None of a number."""
    if not isinstance(side, dict):
        return None
    if "option" in side:
        return wording.option_name(side["option"])
    study = plan["studies"][side["study"]]
    source = wording.label_of(study, side["source"], side["source"])
    if (draws := len(draws_of(side, plan))) > 1:
        source += f" ({side['draws']} of {draws} draws)"
    kind = {"max_abs": "largest ", "max": "largest ", "min": "smallest "}
    name = f"{kind.get(side.get('aggregate'), '')}{measure_in(plan, side).label}"
    if side["source"] != "labels":
        name += f" of {source}"
    if "within" in side:
        limit = side["within"]["at_most"]
        words = "the same limits" if isinstance(limit, list) else f"{limit:g}"
        within = measure_in(plan, side, side["within"]["metric"])
        name = f"least {name} ({within.label} up to {words})"
    setting, measure, part = (side.get(key, "") for key in ("setting", "measure", "part"))
    if f"{side['metric']} of {measure}" in (study.get("measures") or {}):
        measure = ""  # its label says it
    place = [
        ((study.get("labels") or {}).get("measure") or {}).get(measure, measure),
        setting if "*" in setting else wording.setting_label(setting),
        f"number {part}" if part.isdigit() else part,
        side.get("variable", ""),
        wording.setting_label(f"keep_rate={side['keep_rate']:g}") if "keep_rate" in side else "",
        f"step {side['step']}" if "step" in side else "",
    ]
    place = "" if rule_each else wording.joined_words(place)
    return f"{name} ({place})" if place else name


def _phrase(left, right, rule, outcome, plan):
    """The comparison of one rule in words, with numbers."""
    unit, factor = outcome["unit"], outcome["factor"]
    places = wording.digits(unit, *(outcome[key] for key in ("effect", "low", "high")))
    each = rule.get("each")
    names = [_name(left, plan, each), _name(right, plan, each)]
    if names[1] is None:
        # A number on the right is told in the metric's own unit, also where the rest is relative.
        kind, scale = measure_in(plan, left).told
        shown = right * scale
        names[1] = wording.number(shown, wording.digits(kind, shown))
    elif left["study"] != right["study"]:
        names = [f"{names[0]} in {left['study']}", f"{names[1]} in {right['study']}"]
    elif {left.get("target"), right.get("target")} == set(_ROWS):
        sides = zip(names, (left, right), strict=True)
        names = [f"{name} on {_ROWS[side['target']]}" for name, side in sides]
    effect = wording.number(outcome["effect"], places, sign=True)
    text = f"{names[0]} {wording.MINUS} {names[1]} = {effect}" + (f" {unit}" if unit else "")
    if rule.get("relative"):
        text += f" of {'the latter' if isinstance(right, dict) else names[1]}"
    if right == 0.0:
        text = f"{names[0]} = {effect}" + (f" {unit}" if unit else "")
    if each:
        over = "limits" if "within" in left else "items"
        word = {"max": "largest", "min": "least", "mean": "mean", "max_abs": "furthest from 0"}
        text = f"{word[each]} over all {over}: {text}"
    if rule.get("judge") != "mean":
        text += " " + wording.interval(outcome["low"], outcome["high"], places)
    repeats = outcome["repeats"]
    if rule.get("judge") == "every":
        count = wording.count(repeats, "repeat")
        text += f" (least and greatest of {count})" if repeats > 1 else " (a count)"
    elif told := wording.splits(outcome["splits_for"], outcome["splits_against"]):
        text += f", {told} of {repeats}"
    else:
        text += f", {wording.count(repeats, 'repeat')}"
    margin, comparison = rule.get("margin", 0) * factor, rule["comparison"]
    # The margin as it is: one that is rounded would not be the one that was used.
    size = f"{abs(margin):.10g}"
    if margin:
        sign = wording.MINUS if {"greater": margin, "less": -margin}.get(comparison, 0) < 0 else "+"
        word = "above" if comparison == "greater" else "below"
        needed = {"within": f"allowed ±{size}", "differs": f"needed beyond ±{size}"}
        text += f" ({needed.get(comparison, f'needed {word} {sign}{size}')})"
    return text.replace("  ", " ").rstrip()


def _judge(comparison, margin, low, high):
    """holds / fails / undecided, for an interval of left minus right."""
    if comparison == "less":
        comparison, low, high = "greater", -high, -low
    if comparison == "greater":
        return "holds" if low > margin else "fails" if high <= margin else "undecided"
    inside = -margin <= low and high <= margin
    outside = low > margin or high < -margin
    if comparison == "within":
        return "holds" if inside else "fails" if outside else "undecided"
    return "holds" if outside else "fails" if inside else "undecided"


def _frames(rule, left, right, metrics, plan, failures):
    """What was measured of the two sides of a rule; a number on the right stays one."""
    each = bool(rule.get("each"))
    frame = places_of(metrics, left, plan, failures, each)
    if each and isinstance(right, dict) and "option" in right:
        return frame, option_values(frame, right["option"])
    if isinstance(right, dict):
        right = places_of(metrics, right, plan, failures, each)
    return frame, right


def _by_repeat(rule, left, right, frame, other, average):
    """Numbers of both sides in the repeats that both have; differences of places as those of one.

    The right side is a number where the rule has one.
    """
    if each := rule.get("each"):
        values = differences(frame, other, each, bool(rule.get("relative")), average)
        other = 0.0
    else:
        values = values_of(frame, left, average)
    if isinstance(other, pd.DataFrame):
        values, other = values.align(values_of(other, right, average), join="inner")
    if values.empty and (each or isinstance(right, dict)):
        raise Missing("the two sides have no repeat in common")
    return values, other


def _differences(rule, left, right, metrics, plan, failures, average):
    """Left minus right of a rule, one number for each repeat."""
    relative, each = bool(rule.get("relative")), rule.get("each")

    def measured():
        return _frames(rule, left, right, metrics, plan, failures)

    def told(frame, other):
        return _by_repeat(rule, left, right, frame, other, average)

    if average or (each and relative):
        # Means over the repeats that are drawn; ratios of places, each of which has to be there.
        sides = told(*metrics.drawn(*measured()))
        values, other = (one.to_numpy() if isinstance(one, pd.Series) else one for one in sides)
    else:
        values, other = metrics.numbers(rule, measured, told)
    if each:
        return values
    if "passes_over" in rule:
        tell = values != rule["passes_over"]
        values, other = values[tell], other[tell] if isinstance(other, np.ndarray) else other
        if len(values) < LEAST_SPLITS:
            few = wording.count(len(values), "repeat")
            raise Nothing(f"{few} of {len(tell)} with anything to tell it by")
    difference = log_ratio(values, other) if relative else values - other
    if np.isnan(difference).any():
        raise Missing("the difference is not a number")
    return difference


def _independent(rule, left, right, metrics, plan, failures):
    """Mean and interval of left minus right where the two are of other rows: no pairs of repeats.

    Each side has the variance of its own splits, of the test share of its own study.
    """
    sides, errors = [], []
    for side in (left, right):
        (frame,) = metrics.drawn(places_of(metrics, side, plan, failures))
        sides.append(values_of(frame, side, False).to_numpy())
        errors.append(metrics.row_variance(side))
    if min(map(len, sides)) < LEAST_SPLITS:
        raise Missing(_few(min(map(len, sides))))
    shares = [plan["studies"][side["study"]]["test_share"] for side in (left, right)]
    return independent_interval(sides, shares, errors), min(map(len, sides))


def _few(repeats):
    """Why so many repeats decide nothing."""
    told = wording.count(repeats, "repeat")
    return f"{told} {'tell' if repeats > 1 else 'tells'} too little: at least {LEAST_SPLITS} decide"


def _measured(rule, metrics, plan, failures):
    """Mean, low and high of a rule, its repeats, and the difference of each that is judged."""
    left, right = _sides(rule)
    judge = rule.get("judge", "interval")
    if rule.get("independent"):
        interval, repeats = _independent(rule, left, right, metrics, plan, failures)
        return interval, repeats, []
    average = judge == "mean"
    difference = _differences(rule, left, right, metrics, plan, failures, average)
    share = plan["studies"][left["study"]]["test_share"]
    mean, low, high = paired_interval(difference, share)
    repeats = metrics.repeats_of(left) if average else len(difference)
    if average:
        low, high = math.nan, math.nan
    elif judge == "every":
        low, high = float(difference.min()), float(difference.max())
    elif repeats < LEAST_SPLITS:
        raise Missing(_few(repeats))
    if rule.get("relative"):
        mean, low, high, difference = ratios_told(mean, low, high, difference)
    return (mean, low, high), repeats, [] if average else difference


def _settled(rule, metrics, plan, failures):
    """What a rule comes to in numbers; raises `Missing` where there is nothing to tell it by."""
    (mean, low, high), repeats, difference = _measured(rule, metrics, plan, failures)
    judge, asked = rule.get("judge", "interval"), (rule["comparison"], rule.get("margin", 0))
    alone = [_judge(*asked, one, one) for one in difference]
    verdict = _judge(*asked, *((mean, mean) if judge == "mean" else (low, high)))
    if judge == "every" and verdict == "undecided":
        verdict = "fails"
    return {
        **{"effect": mean, "low": low, "high": high, "repeats": repeats, "verdict": verdict},
        "splits_for": alone.count("holds"),
        "splits_against": alone.count("fails"),
    }


_NAN = dict.fromkeys(("effect", "low", "high"), math.nan)
_NONE = dict.fromkeys(("repeats", "splits_for", "splits_against"), 0)


def _bare(rule, metrics, plan, failures):
    """The outcome of a rule without its words; ``text`` says what is missing, else it is empty."""
    counts = "beside" if rule.get("beside") else "built" if rule.get("identity") else "core"
    outcome = {"label": rule["label"], "counts": counts, **_NAN, **_NONE, "text": ""}
    if "benchmark" in rule:
        return outcome | _over_sets(rule)
    try:
        return outcome | _settled(rule, metrics, plan, failures)
    except Missing as missing:
        verdict = "nothing" if isinstance(missing, Nothing) else "cannot"
        return outcome | {"verdict": verdict, "text": str(missing)}


#: Tables of ``make benchmark`` that are kept with the code.
KEPT = Path(__file__).with_name("benchmark")


def _over_sets(rule):
    """What a rule comes to that goes by the data sets of the benchmark, and by nothing of a run.

    It takes the sign test and Wilcoxon's; see `counterweight.benchmark.Told.pairs`. The effect is
    the share of the data sets that differ which are for it, with an exact interval.
    """
    from scipy.stats import binomtest

    table = pd.read_csv(KEPT / f"{rule['benchmark']}_pairs.csv")
    table = table[table["claim"].eq(rule["pair"])]
    if "condition" in rule:
        table = table[table["condition"].eq(rule["condition"])]
    if len(table) != 1:
        raise CounterweightError(
            f"{len(table)} rows of the benchmark {rule['benchmark']} are of the pair "
            f"{rule['pair']}: name a pair that it has, and its condition."
        )
    (row,) = table.to_dict("records")
    text = f"{row['sets']} data sets of make benchmark: {row['wins']} for, {row['ties']} alike, "
    text += f"{row['defeats']} against; chance of as much {row['sign_p']:.2g} by the sign test, "
    text += f"{row['wilcoxon_p']:.2g} by signed ranks; both are needed below 0.05"
    verdict = {"does not hold": "fails"}.get(row["verdict"], row["verdict"])
    share = binomtest(row["wins"], max(row["wins"] + row["defeats"], 1))
    return {
        **{"effect": share.statistic, "repeats": row["sets"], "verdict": verdict},
        **dict(zip(("low", "high"), share.proportion_ci(), strict=True)),
        **{"splits_for": row["wins"], "splits_against": row["defeats"]},
        "text": text,
    }


def decide_rule(rule, metrics, plan, failures):
    """What a rule comes to: numbers, verdict (holds, fails ...), and both in words (``text``).

    `metrics` are `Measurements`, `plan` is that of the report, `failures` explain what is missing.
    """
    if "benchmark" in rule:
        empty = ("study", "target", "metric", "measure", "left", "comparison", "right")
        outcome = dict.fromkeys(empty, "") | _bare(rule, metrics, plan, failures)
        told = {key: outcome[key] * 100.0 for key in _NAN}
        return outcome | told | {"unit": "% of data sets", "factor": 100.0}
    left, right = _sides(rule)
    unit, factor = measure_in(plan, left).told
    if rule.get("relative"):
        unit, factor = "%", 100.0
    outcome = {
        "study": left["study"],
        "target": left.get("target", ""),
        "metric": left["metric"],
        "measure": left.get("measure", ""),
        "left": left.get("source"),
        "comparison": rule["comparison"],
        "right": right.get("source") if isinstance(right, dict) else right,
        "unit": unit,
        "factor": factor,
        **_bare(rule, metrics, plan, failures),
    }
    outcome |= {key: outcome[key] * factor for key in _NAN}
    if not outcome["text"]:
        outcome["text"] = _phrase(left, right, rule, outcome, plan)
    return outcome


def conditions(outcomes):
    """Verdict of each label: the worst of its rules."""
    order = ("cannot", "fails", "undecided", "holds", "nothing")
    return {
        label: min((o["verdict"] for o in outcomes if o["label"] == label), key=order.index)
        for label in dict.fromkeys(o["label"] for o in outcomes)
    }


def _data(outcomes, plan):
    """Kind of data behind a claim: real, simulated, generated; the least real one wins.

    Data sets of the benchmark are real, whatever the run has.
    """
    core = [o for o in outcomes if o["counts"] != "beside"]
    if core and not any(o["study"] for o in core):
        return "real"
    kinds = {
        plan["studies"][o["study"]].get("source", plan.get("data_source", "download"))
        for o in outcomes
        if o["study"] in plan["studies"]
    }
    for kind in ("generated", "download", "simulated"):
        if kind in kinds:
            return {"download": "real"}.get(kind, kind)
    return plan.get("data_source", "download").replace("download", "real")


#: Outcomes of a condition in words.
OUTCOMES = {
    "holds": "holds",
    "fails": "does not hold",
    "undecided": "undecided, the interval contains the threshold",
    "cannot": "cannot be tested",
    "nothing": "says nothing here, and is not counted",
}


def verdict_of(conditions, asks):
    """Verdict of a claim from its conditions, ``(outcome, splits for, splits against)`` each.

    What is asked for ``all`` cases, or of ``both`` halves of a sentence, *does not hold* as soon as
    one fails; what is asked for ``some`` *holds* as soon as one does, and *does not hold* only if
    all fail. What is said in ``general`` *depends* where some hold and some fail. Conditions that
    are undecided, whose intervals contain the threshold, say neither yes nor no: a claim *holds
    where it could be decided* if some hold, and of each that is undecided more splits are for it
    than against; else it is *undecided*.
    """
    known = [outcome for outcome, _, _ in conditions]
    decisive = {"all": "fails", "both": "fails", "some": "holds"}.get(asks)
    if decisive in known:
        return {"fails": "does not hold", "holds": "holds"}[decisive]
    if "cannot" in known or not known:
        return "cannot be tested"
    if {"holds", "fails"} <= {*known} and asks == "general":
        return "depends"
    open_ones = [one for one in conditions if one[0] == "undecided"]
    if not open_ones:
        return "does not hold" if "fails" in known else "holds"
    leaning = [favour > against for _, favour, against in open_ones]
    if "fails" in known:
        return "undecided" if any(leaning) or asks == "some" else "does not hold"
    decided = "holds" in known and all(leaning) and asks != "some"
    return "holds where it could be decided" if decided else "undecided"


def _counted(outcomes):
    """Conditions that a verdict rests on, and whether that is what holds by construction alone.

    What holds by construction counts where it fails, or stands alone.
    """
    made, built = {}, set()
    for label, outcome in conditions([o for o in outcomes if o["counts"] != "beside"]).items():
        if outcome == "nothing":
            continue
        own = [o for o in outcomes if o["label"] == label]
        votes = (sum(o[key] for o in own) for key in ("splits_for", "splits_against"))
        made[label] = (outcome, *votes)
        if all(o["counts"] == "built" for o in own):
            built.add(label)
    core = {label: one for label, one in made.items() if label not in built or one[0] == "fails"}
    return list((core or made).values()), bool(made) and not core


def in_words(outcomes, label):
    """What a condition came to, in words, with how it counts."""
    own = [o for o in outcomes if o["label"] == label]
    word = OUTCOMES[conditions(own)[label]]
    if all(o["counts"] == "built" for o in own):
        word += ", by construction"
    elif all(o["counts"] == "beside" for o in own):
        word += ", told beside and not counted"
    texts = "; ".join(dict.fromkeys(o["text"] for o in own))
    return f"{wording.capital(label)}: {word} ({texts})."


def judged(claim, outcomes):
    """Verdict of a claim from the outcomes of its rules."""
    counted, built = _counted(outcomes)
    verdict = verdict_of(counted, claim["asks"])
    return "holds by construction" if built and verdict == "holds" else verdict


def by_seed():
    """Verdicts of the standard run by its seed, in words by claim; see ``make seeds``."""
    table = pd.read_csv(KEPT / "claims_seeds.csv", index_col="id")
    return {
        claim: "; ".join(
            f"{verdict} with {count} of {len(row)} seeds" for verdict, count in Counter(row).items()
        )
        for claim, row in table.iterrows()
    }


def _same(claim, verdict, metrics, plan, failures):
    """In how many of `REDRAWS` draws of the repeats a claim has this verdict."""
    # What goes by the data sets of the benchmark goes by no repeats.
    rules = [
        (r, _bare(r, metrics, plan, ()) if "benchmark" in r else None) for r in claim["decide"]
    ]
    again = (
        judged(claim, [fixed or _bare(rule, one, plan, failures) for rule, fixed in rules])
        for one in metrics.redrawn(REDRAWS)
    )
    return sum(one == verdict for one in again)


def _decide_claim(claim, metrics, plan, failures, seeds):
    outcomes = [decide_rule(rule, metrics, plan, failures) for rule in claim.get("decide", ())]
    data, same = _data(outcomes, plan), REDRAWS
    if not outcomes:
        verdict, detail = "cannot be tested", claim["untestable"]
    elif data == "generated" and claim.get("real_data_only"):
        verdict = "cannot be tested"
        detail = "The claim is about the real data set, and this run has generated data."
        outcomes = []
    else:
        verdict = judged(claim, outcomes)
        if verdict != "cannot be tested":
            same = _same(claim, verdict, metrics, plan, failures)
        detail = " ".join(in_words(outcomes, label) for label in conditions(outcomes))
        if verdict == "depends":
            detail = f"It depends on {claim.get('depends_on', 'the condition')}. {detail}"
        if data == "generated":
            detail = "On generated data, not on the real data set. " + detail
    first = next((o for o in outcomes if o["counts"] == "core"), next(iter(outcomes), {}))
    none = {**_NAN, **_NONE, "unit": ""}
    return {
        **{key: claim[key] for key in ("id", "paper", "statement", "where", "kind", "asks")},
        "title": claim.get("title", claim["paper"]),
        "verdict": verdict,
        "detail": detail,
        **{key: first.get(key, value) for key, value in none.items()},
        "data": data if outcomes else "",
        "rules": json.dumps([_plain(outcome) for outcome in outcomes], allow_nan=False),
        "same": same,
        "by_seed": seeds.get(claim["id"], ""),
    }


def _plain(outcome):
    """An outcome as JSON can hold it: numbers that are not finite become text or null."""
    plain = {key: value for key, value in outcome.items() if key != "factor"}
    for key in ("effect", "low", "high"):
        value = float(plain[key])
        plain[key] = value if math.isfinite(value) else None if math.isnan(value) else str(value)
    return plain


def decide(claims, metrics, plan, failures=()):
    """Verdict of every claim from the metrics, in columns `LAYOUT`, one row for each claim.

    `metrics` are in the layout `tables.parquet.METRICS`; `failures` explain why one is
    missing. ``verdict`` is one of `VERDICTS`, as `verdict_of` says. ``effect``, ``low`` and
    ``high`` belong to the first rule that is a condition of the claim and are in ``unit``; so do
    ``repeats``, ``splits_for`` and ``splits_against``, the repeats whose own difference satisfies
    the comparison or contradicts it (0 where only the mean is looked at). ``data`` is real,
    generated or simulated; ``rules`` is JSON with the outcome of each rule; ``same`` says in how
    many of `REDRAWS` draws of the repeats, with replacement, the verdict is the same; ``by_seed``
    what the standard run came to with several seeds (kept with the code, whatever this run is).
    """
    failures, measured = list(failures), Measurements(metrics)
    seeds = by_seed()
    rows = [_decide_claim(claim, measured, plan, failures, seeds) for claim in claims]
    return pd.DataFrame(rows, columns=[name for name, _ in LAYOUT])


SCHEMA = schema_path("claims.schema.yaml")
#: A safe loader, in C where there is one.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _place(file, document, path):
    """Where in a claim file an error stands: the claim's id and the number of the rule."""
    path, words = list(path), [file]
    if path[:1] == ["claims"] and len(path) > 1:
        claim = document["claims"][path[1]]
        name = claim.get("id") if isinstance(claim, dict) else None
        words.append(f"claim {name}" if name else f"claim number {path[1] + 1}")
        path = path[2:]
        if path[:1] == ["decide"] and len(path) > 1:
            words.append(f"rule {path[1] + 1}")
            path = path[2:]
    if path:
        words.append(".".join(map(str, path)))
    return ", ".join(words)


def _explain(error):
    """What a schema error means, in words."""
    if error.validator == "enum":
        near = difflib.get_close_matches(str(error.instance), error.validator_value, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return f"{error.instance!r} is not known; {hint}choose {listed(error.validator_value)}"
    if error.validator == "additionalProperties":
        allowed = error.schema["properties"]
        extra = [key for key in error.instance if key not in allowed]
        near = difflib.get_close_matches(str(extra[0]), allowed, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the keys are {listed(allowed, 20)}"
        return f"unknown key {extra[0]!r}; {hint}"
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"the key {missing[0]!r} is missing; add it"
    if error.validator == "oneOf":
        return "give either 'decide' (a list of rules) or 'untestable' (a reason), not both"
    if error.validator == "anyOf":
        return f"{error.instance!r} is neither a source, a number nor a mapping"
    return error.message


def load_claims(paths):
    """Claims, and figures in print, of checked claim files, each with its ``paper``.

    Raises CounterweightError when a file is not there, is no YAML, breaks the schema, or repeats an
    id.
    """
    import jsonschema

    if not paths:
        return [], []
    with open(SCHEMA, encoding="utf-8") as file:
        validator = jsonschema.Draft202012Validator(yaml.load(file, LOADER))
    claims, printed = [], []
    for path in sorted(map(Path, paths)):
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), LOADER)
        except FileNotFoundError as error:
            text = f"The claim file {path} is not there: check the path."
            raise CounterweightError(text) from error
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f", line {mark.line + 1}" if mark else ""
            raise CounterweightError(f"{path}{line}: not valid YAML; correct it.") from error
        errors = sorted(validator.iter_errors(document), key=lambda e: (len(e.path), str(e.path)))
        if errors:
            place = _place(str(path), document, errors[0].absolute_path)
            raise CounterweightError(f"{place}: {_explain(errors[0])}.")
        for claim in document["claims"]:
            if any(known["id"] == claim["id"] for known in claims):
                raise CounterweightError(f"{path}: the claim id {claim['id']} is used twice.")
            claims.append({"paper": document["paper"], "title": document["title"], **claim})
        printed += [{"paper": document["paper"], **entry} for entry in document.get("printed", [])]
    return claims, printed
