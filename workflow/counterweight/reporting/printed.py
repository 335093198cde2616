"""The papers' claims, tables and figures beside ours, and what we found that no paper says.

Both are declared in the files of claims: print by print with where it stands, finding by finding
with the rules whose numbers its sentence tells. Ours always comes from the metrics.
"""

import json
import math
from pathlib import Path

import pandas as pd
import yaml

from counterweight.numerics.estimate import around
from counterweight.reporting import blocks
from counterweight.reporting.blocks import (
    BANNERS,
    CLAIMS,
    Cell,
    Head,
    Link,
    Row,
    Section,
    Sentence,
    Table,
)
from counterweight.reporting.claim_quantities import Measurements, Missing, measure_in, places_of
from counterweight.reporting.claims import (
    ASKS,
    LOADER,
    REDRAWS,
    conditions,
    decide_rule,
    in_words,
    load_claims,
)
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import digits_of, told
from counterweight.reporting.wording import (
    capital,
    count,
    digits,
    interval,
    joined_words,
    label_of,
    number,
    setting_label,
    splits,
)
from counterweight.tables.parquet import PLACE

#: Departures up to so many standard deviations are none.
FAR = 2.0
#: Figures of one item beyond which their table is folded.
MANY = 10
_SIDE = ("study", "source", "metric", "target", *PLACE)
#: Layout of the figures in print beside ours, as a table.
PRINTED = (
    *((name, "string") for name in ("paper", "item", *_SIDE[:8])),
    *((name, "float64") for name in ("step", "keep_rate", "printed", "ours", "sd")),
    *(("n", "int32"), ("departure", "float64"), ("reason", "string")),
)


def load_items(paths):
    """Tables and figures, findings and answers of checked claim files, each with its ``title``."""
    made = {"items": [], "findings": [], "answers": []}
    for path in sorted(map(Path, paths)):
        document = yaml.load(path.read_text(encoding="utf-8"), LOADER)
        of = {"paper": document["paper"], "title": document["title"]}
        for kind, known in made.items():
            known += [of | entry for entry in document.get(kind, ())]
    return tuple(made.values())


def of_papers(paths, metrics, shown):
    """Claims, figures in print and first sentences by study of claim files; see `told_answers`.

    Beside a sentence stand its levels, ``(method, setting, metric, target)`` of that study.
    """
    *_, answers = load_items(paths)
    told = told_answers(answers, metrics, shown)
    levels = {answer["study"]: tuple(_levels(answer)) for answer in answers}
    return *load_claims(paths), {name: (said, levels[name]) for name, said in told.items()}


def beside_print(items, printed, metrics, shown):
    """Each figure in print beside ours, in columns `PRINTED`, item by item.

    A departure is ours less print in standard deviations over repeats of ours; NaN where there are
    fewer than two repeats, or nothing in print. Figures that stand in no item belong to the item
    ``text`` of their paper.
    """
    measured, rows = Measurements(metrics), []
    for item in items:
        known = {other["item"] for other in items if other["paper"] == item["paper"]}
        own = [entry for entry in printed if entry["paper"] == item["paper"]]
        named = [one for one in own if _item(one, known) == item["item"]]
        for entry in (*named, *item.get("ours", ())):
            side = {key: entry[key] for key in _SIDE if key in entry}
            ours = _ours(side, measured, shown)
            value = entry.get("value", math.nan)
            far = (ours.mean - value) / ours.sd if ours.sd > 0 else math.nan
            rows.append(
                {**dict.fromkeys(_SIDE, ""), "step": math.nan, "keep_rate": math.nan, **side}
                | {key: item[key] for key in ("paper", "item", "reason")}
                | {"printed": value, "ours": ours.mean, "sd": ours.sd, "n": ours.n}
                | {"departure": far}
            )
    return pd.DataFrame(rows, columns=[name for name, _ in PRINTED])


def _item(entry, known):
    """Item that a figure in print belongs to, by where it stands."""
    where = entry["where"].partition(",")[0]
    return where if where in known else "text"


def _ours(side, measured, shown):
    if side["study"] not in shown["studies"]:
        return Estimate(n=0)
    try:
        values = places_of(measured, side, shown, ()).iloc[:, 0].dropna()
    except Missing:
        return Estimate(n=0)
    sd = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return Estimate(mean=float(values.mean()), sd=sd, n=len(values))


def printed_page(items, table, shown):
    """The page that lists every table and figure of the papers, print beside ours."""
    known = table[table["printed"].notna() & table["ours"].notna()]
    near = known[_near(known)]
    lead = (
        f"Of {count(len(known), 'figure')} in print that have one of ours beside them, "
        f"{len(near)} are within {FAR:g} standard deviations of it, or the same to the digits in "
        f"print. All {len(items)} entries below are tables and figures of the papers, or what "
        "stands in their text."
    )
    rows, sections = [], {}
    for item in items:
        own = table[(table["paper"] == item["paper"]) & (table["item"] == item["item"])]
        first = item["title"] not in sections
        short = item["title"].partition("(")[0].strip() if first else ""
        name = "In the text" if item["item"] == "text" else item["item"]
        rows.append(Row(name, tuple(_overview(item, own)), short))
        made = [Sentence(f"{item['shows']}")]
        if item.get("study") in shown["studies"]:
            title = shown["studies"][item["study"]]["title"]
            made.append(Link(f"Ours: {title}", blocks.page_of(item["study"])))
        made += [one for one in [_numbers(name, own, shown)] if one]
        made += [Sentence(f"Why ours departs: {item['reason']}")] if item["reason"] else []
        sections.setdefault(item["title"], []).append(Section(name, tuple(made)))
    heads = (
        "Table or figure",
        "In print",
        f"Within {FAR:g} sd or digits",
        "Furthest",
        "Why (below)",
    )
    whole = Table("Every table and figure", tuple(map(Head, heads)), tuple(rows))
    parts = [Section(title, tuple(made)) for title, made in sections.items()]
    return blocks.Page(
        blocks.PRINTED_PAGE,
        "The papers' tables and figures beside ours",
        (Sentence(lead, "answer"), whole),
        tuple(parts),
        banner=blocks.BANNERS.get(shown["data_source"], ""),
        lead="Which figures of the papers come out here, and why not where not?",
    )


def _near(table):
    """Whether each figure is within `FAR` sd of ours, or the same to the digits in print."""
    half = table["printed"].map(lambda value: 0.5 * 10.0 ** -_digits(value))
    same = (table["ours"] - table["printed"]).abs() <= half * (1 + 1e-9)
    return same | (table["departure"].abs() <= FAR)


def _digits(value):
    """Digits after the point of a figure in print."""
    text = f"{value:.10f}".rstrip("0")
    return len(text.partition(".")[2])


def _overview(item, own):
    both = own[own["printed"].notna() & own["ours"].notna()]
    yield Cell(str(int(own["printed"].notna().sum())))
    yield Cell(str(int(_near(both).sum())) if len(both) else "–")
    far = both["departure"].dropna()
    far = far.loc[far.abs().idxmax()] if len(far) else math.nan
    yield Cell("–" if math.isnan(far) else number(far, 1, sign=True) + " sd")
    why = "in part unknown" if "unknown" in item["reason"] else "told"
    if not item["reason"]:
        why = "as in print" if _near(both).all() else "unknown, nothing tried"
    yield Cell(why)


def _numbers(name, own, shown):
    """The figures of one item as a table; None where it has none."""
    rows = []
    for entry in own.to_dict("records"):
        side = {key: entry[key] for key in _SIDE if entry[key] == entry[key]}
        study = shown["studies"].get(entry["study"])
        if study is None:
            continue
        measure = measure_in(shown, side)
        ours = Estimate(mean=entry["ours"], sd=entry["sd"], n=entry["n"])
        there = Estimate(mean=entry["printed"])
        places = digits_of(measure, [one for one in (ours, there) if one.known])
        spread = told(Estimate(mean=ours.sd), measure, places)[0]
        far = entry["departure"]
        rows.append(
            Row(
                _label(side, study, measure),
                (
                    Cell(told(there, measure, places)[0]),
                    Cell(
                        told(ours, measure, places)[0], "" if ours.sd != ours.sd else f"({spread})"
                    ),
                    Cell(str(entry["n"])),
                    Cell("–" if math.isnan(far) else number(far, 1, sign=True)),
                ),
            )
        )
    heads = ("Figure", "In print", "Ours", "Repeats", "Departure, sd")
    note = "Ours: mean (standard deviation over repeats). Departure: ours less print, in those."
    fold = f"{name} ({len(rows)} figures)" if len(rows) > MANY else ""
    return Table(name, tuple(map(Head, heads)), tuple(rows), note, fold=fold) if rows else None


def _label(side, study, measure):
    source = "" if side["source"] == "labels" else label_of(study, side["source"], side["source"])
    part = side.get("part", "")
    words = [
        source,
        setting_label(side["setting"]) if side.get("setting") else "",
        f"component {int(part) + 1}" if part.isdigit() else part.replace("_", " "),
        side.get("variable", ""),
        {"train": "training rows", "test": "test rows"}.get(side.get("target", ""), ""),
    ]
    return joined_words([capital(measure.label), joined_words(words)], ": ")


# The claims.


def claims_page(claims):
    told = blocks.Sentence("No study of a paper was run, so no claim was looked at.")
    if len(claims):
        told = blocks.Claims(tuple(claim_rows(claims)), filters=True)
    lead = "What the papers say, and what came out here."
    return blocks.Page(CLAIMS, "Claims of the papers", (told,), lead=lead)


def claim_rows(claims):
    """Claims as rows, with what each of their conditions came to."""
    for claim in claims.itertuples():
        places = digits(claim.unit, claim.effect, claim.low, claim.high)
        effect = joined_words([number(claim.effect, places, sign=True), claim.unit], " ")
        rules = json.loads(claim.rules)
        details = [in_words(rules, label) for label in conditions(rules)]
        yield blocks.ClaimRow(
            claim.id,
            claim.title,
            claim.statement,
            claim.where,
            claim.verdict,
            "" if math.isnan(claim.effect) else effect,
            interval(claim.low, claim.high, places),
            tuple(details or filter(None, [claim.detail])),
            claim.data if claim.data in BANNERS else "",
            splits(claim.splits_for, claim.splits_against),
            joined_words(
                [
                    f"{claim.kind}, {ASKS[claim.asks]}",
                    f"same verdict in {claim.same} of {REDRAWS} redraws",
                    claim.by_seed and f"in the standard run {claim.by_seed}",
                ]
            ),
        )


# What was found.


def told_findings(findings, metrics, shown):
    """Findings whose rules all hold in this run, each with its sentence, as `blocks.Finding`.

    A sentence has the numbers of its rules in place of their labels in braces, with intervals.
    """
    measured = Measurements(metrics)
    for finding in findings:
        outcomes = [decide_rule(rule, measured, shown, ()) for rule in finding["values"]]
        if all(outcome["verdict"] == "holds" for outcome in outcomes):
            said = _all_told(finding["values"], outcomes, shown)
            yield blocks.Finding(
                finding["title_of"],
                blocks.page_of(finding["study"]),
                "",
                finding["says"].format(**said),
            )


def told_answers(answers, metrics, shown):
    """First sentences of studies by study: those of which all numbers are there in this run.

    Of an answer with ``nearest``, names in print by label, that of the number nearest to 0 stands
    in place of the word nearest in braces.
    """
    measured, told = Measurements(metrics), {}
    for answer in answers:
        if answer["study"] in shown["studies"]:
            outcomes = [decide_rule(rule, measured, shown, ()) for rule in answer["values"]]
            if not any(outcome["verdict"] in ("cannot", "nothing") for outcome in outcomes):
                said = _all_told(answer["values"], outcomes, shown)
                away = {one["label"]: abs(one["effect"]) for one in outcomes}
                names = answer.get("nearest", {})
                said |= {"nearest": names[min(names, key=away.get)]} if names else {}
                told[answer["study"]] = answer["says"].format(**said)
    return told


def _levels(answer):
    """What of a study itself its first sentence tells as it was measured, not held against more."""
    for rule in answer["values"]:
        if rule["study"] == answer["study"] and (left := _level(rule)):
            yield left["source"], left.get("setting", ""), rule["metric"], rule["target"]


def _all_told(rules, outcomes, shown):
    """Numbers of rules in print, by label."""
    pairs = zip(rules, outcomes, strict=True)
    return {rule["label"]: _told(rule, outcome, shown) for rule, outcome in pairs}


def _level(rule, more=()):
    """The side of a rule that tells what was measured as it is; None of others."""
    left = rule["left"] if isinstance(rule["left"], dict) else {"source": rule["left"]}
    return left if rule["right"] == 0 and not ({*left} - {"source", "setting", *more}) else None


def _told(rule, outcome, shown):
    """The effect of a rule with its unit and interval: a level where it is held against 0.

    What is told as it was measured has the interval that pages have, within its bounds.
    """
    unit, level = outcome["unit"], outcome["right"] == 0
    unit = "%" if level and unit == "points" else unit
    effect, low, high = (outcome[key] for key in ("effect", "low", "high"))
    side = _level(rule, ("metric", "target")) if level else None
    if side and rule.get("judge", "interval") == "interval":
        limits = measure_in(shown, rule | side).limits
        limits = [None if end is None else end * outcome["factor"] for end in limits]
        low, high = map(float, around(effect, (high - low) / 2, limits))
    places = 1 if unit in ("%", "points") else digits(unit, effect, low, high)
    text = number(effect, places, sign=not level)
    bracket = interval(low, high, places) if low != high else ""
    return joined_words([text, unit, bracket], " ")
