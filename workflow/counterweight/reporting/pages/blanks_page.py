"""Pages of tables with blank outcomes: the answer, how far to trust it, what is delivered."""

import functools
import math
from dataclasses import replace

from counterweight.errors import CounterweightError
from counterweight.numerics.sensitivity import TWICE
from counterweight.reporting import blocks
from counterweight.reporting.pages.selection_page import SELECTORS, WEIGHTS, fits
from counterweight.reporting.pages.sensitivity_page import (
    BY_COLUMN,
    BY_GAMMA,
    GIVEN,
    how_wrong,
    swept_of,
    turn,
    turns,
)
from counterweight.reporting.sheets import Column, Sheet, each_method, in_words, told
from counterweight.reporting.study_page import Answer, StudyPage
from counterweight.reporting.wording import capital, listing, number, percent
from counterweight.tables.saved_form import read_saved

#: Whom answers are for, in print.
FOR = {"general": "everyone in the table", "unlabeled": "the rows without an outcome"}
#: Share of the rows without an outcome that weights cannot make up for, from which one is warned:
#: a table whose chances of a label are spread evenly from 0 to 1 has .19.
APART = 0.25
#: Metrics that tell how good answers are: the first that was measured leads.
QUALITY = ("auc", "r2", "log_loss", "mse")


@functools.lru_cache(8)
def facts(numbers):
    """What the saved model says of itself, read once a page; empty where there is none."""
    try:
        return read_saved(numbers.folder / "model.parquet").facts
    except CounterweightError:
        return {}


def answer(numbers):
    """What the outcome is among those that answers are for, and how good single answers are."""
    target, (method, _) = numbers.plan["targets"][0], numbers.delivered
    name = next((one for one in QUALITY if numbers.measured(one, target)), None)
    if method is None or name is None:
        return None
    saved, quality = facts(numbers), numbers.measure(name)
    binary = numbers.measured("target_rate", target)
    metric = "target_rate" if binary else "target_mean"
    rate, measure = numbers.get("delivered", metric, target), numbers.measure(metric)
    whom, outcome = saved.get("for") or FOR[target], saved.get("outcome", "the outcome")
    swept = list(swept_of(numbers, target))
    if binary:
        one = saved["names"][1] if saved.get("names") else "1"
        sentence = f"of {whom}, an estimated {in_words(rate, measure)} have {outcome} = {one}"
    else:
        sentence = f"over {whom}, {outcome} is {in_words(rate, measure)} on average"
    if swept:
        sentence = _condition(saved) + sentence + _range(swept[0], saved)
    known = {source: numbers.get(source, name, target) for source in numbers.sources}
    rows, labeled, blank = (
        numbers.get("labels", f"rows_{which}", "").mean for which in ("all", "labeled", "unlabeled")
    )
    more = (
        *_wrong(numbers, saved, target, swept),
        _apart(numbers, target),
        f"On held-out labeled rows, weighted to have the features of {whom}, "
        f"{saved.get('method', numbers.label(method))} has {quality.label} "
        f"{in_words(known[method], quality)}"
        + (", before the tilt." if saved.get("tilt") else ".")
        + (" It is that of all of them only if labels are missing at random." if swept else ""),
        *[*saved.get("why", ())][-1:],
        _outside(numbers, target),
        f"scores.csv has an answer for each of the {number(rows, 0)} rows.",
    )
    worth, outside = (
        number(numbers.get("delivered", which, target).mean, 0)
        for which in ("effective_rows", "rows_outside")
    )
    note = whom + (f"; {swept[0].range(TWICE)} at Γ = {TWICE:g}" if swept else "")
    of_blank = f"of {number(blank, 0)} without an outcome"
    cards = (
        blocks.Card(f"{outcome}, estimated", *told(rate, measure), note),
        blocks.Card(capital(quality.label), *told(known[method], quality), "cross-validated"),
        blocks.Card("Rows to learn from", number(labeled, 0), "", f"worth {worth} once weighted"),
        blocks.Card("Rows like nobody labeled", outside, "", of_blank),
    )
    points = [(numbers.label(one), known[one], "main" * (one == method)) for one in known]
    return Answer(f"{capital(sentence)}.", more, cards, points, tuple(files(numbers)))


def _condition(saved):
    """Under what the first sentence holds; it says nothing without."""
    tilt = saved.get("tilt")
    if tilt is None:
        if saved.get("for"):
            return f"If outcomes of {saved['for']} are, at equal features, those of labeled rows, "
        return "If labels are missing at random, "
    odds = f"the odds of rows without an outcome are {tilt['odds']:.3g} times those of like rows"
    source = {"times": "as the config says", "rate": "which makes the rate that the config says"}
    return f"If {odds}, {source.get(tilt['by'], 'as estimated')}, "


def _range(one, saved):
    """What Γ = 2 makes of the estimate, its interval included."""
    span = one.range(TWICE, chance=True)
    if not saved.get("names"):
        return (
            "; if, at equal features, the odds of being without one differ between any two values "
            f"by a factor of up to 2, {span}"
        )
    if saved.get("for"):
        return f"; if their odds are up to twice or half as large as those of like rows, {span}"
    odds = "these odds" if saved.get("tilt") else "the odds of rows without an outcome"
    off = "as assumed" if saved.get("tilt") else "as those of like rows"
    return f"; if {odds} are up to twice or half as large {off}, {span}"


def _wrong(numbers, saved, target, swept):
    """What the condition rests on, and where the conclusion turns."""
    if not swept:
        return
    assumed = "differ by this factor, the same for all," if saved.get("tilt") else "do not differ"
    yield (
        "The first figure supposes that rows with the same features, with and without an outcome, "
        f"{assumed} in how they turn out, and nothing in the table can show that. For the second, "
        "odds at most twice or half as large (Γ = 2) are a point of reference and no estimate; it "
        f"is {swept[0].range(TWICE)}, widened there by the sampling error of its ends."
    )
    side, known = turns(numbers, GIVEN, "rate", target)
    if side:
        what = "rate" if numbers.measured("swept_rate", target) else "mean"
        whom = saved.get("for") or FOR[target]
        yield turn(f"That the {what} among {whom} is {side} that of the labeled rows", known)
    if saved.get("tilt"):
        yield from saved["rests_on"][1:]


def _apart(numbers, target):
    """A warning where rows without an outcome are of other kinds than those that have one."""
    share = numbers.get("delivered", "no_overlap", target)
    if not share.known or share.mean < APART:
        return ""
    return (
        f"Careful: {percent(share.mean, 0)} of the rows without an outcome are of a kind that "
        "hardly ever has one, so that nothing in the table tells how they turn out: the "
        "estimates here rest on the form of the model, and their intervals leave that out."
    )


def _outside(numbers, target):
    """How many rows resemble nobody labeled, and what sets them apart."""
    rows = numbers.get("delivered", "rows_outside", target)
    blank = numbers.get("labels", "rows_unlabeled", "")
    if not blank.known or not blank.mean:
        return ""
    why = listing(numbers.rows("delivered", "rows_outside_by")["part"])
    return (
        f"Of the {number(blank.mean, 0)} rows without an outcome, {number(rows.mean, 0)} "
        f"({percent(rows.mean / blank.mean)}) resemble no row that has one, so that their answers "
        f"rest on the form of the model alone{f'; what sets them apart is {why}.' if why else '.'}"
    )


def files(numbers):
    """Where the answers are."""
    folder, what = numbers.within, "estimate, interval, support, what moved it"
    yield blocks.Link("Answers for every row", f"{folder}/scores.csv", what)
    if numbers.plan.get("new_rows"):
        yield blocks.Link("Answers for the new rows", f"{folder}/new_scores.csv")


def why(numbers):
    """How the method was chosen, how the target was reached, and what the answer rests on."""
    for part in ("why", "target", "rests_on"):
        yield from facts(numbers).get(part, ())


def sizes(numbers):
    """How many rows stand behind the numbers, and whom no weight can make up for."""
    target, labeled = numbers.plan["targets"][0], numbers.get("labels", "rows_labeled", "").mean
    worth, effect, beyond = (
        numbers.get("delivered", name, target).mean
        for name in ("effective_rows", "design_effect", "no_overlap")
    )
    yield (
        f"{number(labeled, 0)} rows with an outcome, worth {number(worth, 0)} of "
        f"equal weight once weighted (design effect {number(effect, 2)})."
    )
    if not math.isnan(beyond):
        yield (
            f"{percent(beyond)} of the rows without an outcome were less likely to have one "
            "than nearly all rows that do: no weight makes up for them."
        )


def _columns(*names, **place):
    """Columns of metrics on those that answers are for."""
    return lambda numbers: [
        Column(name, target=numbers.plan["targets"][0], place=place) for name in names
    ]


QUALITIES = ("auc", "log_loss", "brier", "accuracy", "calibration_ratio", "r2", "mse", "mae")
PAGE = StudyPage(
    answer=answer,
    sheets=(
        Sheet(
            "Every method, cross-validated, weighted to those that answers are for",
            lambda numbers: [
                replace(line, mark="main" * (line.source == numbers.delivered[0]))
                for line in each_method(numbers)
            ],
            _columns(*QUALITIES, "mean_error"),
        ),
    ),
    trust=(why, how_wrong, BY_GAMMA, BY_COLUMN, sizes, WEIGHTS, SELECTORS, fits),
    details=(
        Sheet(
            "The same on the labeled rows as they are",
            each_method,
            _columns("auc", "log_loss", "r2", "mse", part="labeled"),
        ),
    ),
    question=lambda numbers: (
        f"What would {facts(numbers).get('outcome', 'the outcome')} be where it is blank?"
    ),
)
