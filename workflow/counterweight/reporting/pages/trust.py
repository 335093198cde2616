"""How far to trust an answer where labels are missing: sweeps by Γ, rehearsals, weights, fits."""

import math
from dataclasses import dataclass

from counterweight.numerics.sensitivity import EITHER, MOST, TWICE, turn_sentence
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Line,
    Sheet,
    digits_of,
    each_of,
    gap_in_words,
    in_words,
)
from counterweight.reporting.wording import (
    TARGETS,
    Measure,
    capital,
    count,
    joined_words,
    listing,
    number,
    percent,
)
from counterweight.tables.parquet import setting_name, setting_options

#: What is swept: metric, what it is called in a title, what hidden labels say of it elsewhere.
SWEPT = (
    ("swept_rate", "Rate of {outcome}", None),
    ("swept_mean", "Mean outcome", None),
    ("swept_accuracy", "Accuracy of {method}", "accuracy"),
    ("swept_brier", "Brier score of {method}", "brier"),
)
#: Whose rows, in print.
AMONG = {"general": "everyone", "unlabeled": "those without a label"}
GIVEN = "delivered"
#: Source of what was measured on copies of the table.
REHEARSED = "rehearsal"


@dataclass(frozen=True)
class Swept:
    """A quantity of a study by Γ: ``name`` and ``title`` say what it is, in short and in full.

    ``common``: one factor for all rows gives a curve of its own; ``truth``: what hidden labels say.
    """

    numbers: object
    source: str
    metric: str
    target: str
    name: str
    title: str
    common: bool
    truth: Estimate

    @property
    def measure(self):
        return self.numbers.measure(self.metric)

    def at(self, gamma, end):
        """The `Estimate` of an end at a Γ."""
        place = {"setting": setting_name({"gamma": float(gamma)}), "variable": end}
        return self.numbers.get(self.source, self.metric, self.target, **place)

    def ends(self, end):
        """The `Estimate` of an end by setting, in the order of Γ."""
        address = self.source, self.metric, self.target
        settings = self.numbers.places("setting", *address, variable=end)
        settings = sorted(settings, key=lambda one: setting_options(one)["gamma"])
        return {one: self.numbers.get(*address, setting=one, variable=end) for one in settings}

    def told(self, *values):
        """Values in the measure's unit, with as many digits as their sizes need."""
        unit, factor = (" %", 100) if self.measure.percent else ("", 1)
        unit = " points" if self.measure.unit == "points" and factor == 1 else unit
        places = 1 if factor == 100 else digits_of(self.measure, map(Estimate, values))
        return " to ".join(number(factor * value, places) for value in values) + unit

    @property
    def chance(self):
        """Whether bounds have sampling errors of their own, which their range then includes."""
        return self.source == GIVEN and self.at(TWICE, "least").bounded

    def range(self, gamma):
        """``12.1 to 31.0 %`` at a Γ: to the outer ends of the bounds' intervals, if there are."""
        least, most = (self.at(gamma, end) for end in ("least", "most"))
        return self.told(*((least.low, most.high) if self.chance else (least.mean, most.mean)))

    @property
    def sentence(self):
        """The range at Γ = 2 and the estimate, around which it is."""
        words = ("if missing at random", "as assumed", "with the tilt")
        centre = assumed_of(self.numbers, *words)
        middle = self.told(self.at(1.0, "least").mean)
        error = ", sampling error included" if self.chance else ""
        return f"{self.title}: {middle} {centre}, {self.range(TWICE)} at Γ = {TWICE:g}{error}"


def swept_of(numbers, target=None):
    """Each `Swept` of a study: of what it delivers, or of its main method.

    By default of the rows without a label where they are a target, else of the first target.
    """
    targets = numbers.plan["targets"]
    target = target or ("unlabeled" if "unlabeled" in targets else targets[0])
    main, names = numbers.delivered[0] or numbers.main, {"outcome": outcome_of(numbers)}
    for metric, title, known in SWEPT:
        sources = filter(None, (GIVEN, main, *numbers.sources))
        source = next((one for one in sources if numbers.measured(metric, target, one)), None)
        if source is None:
            continue
        names["method"] = numbers.label(main if source == GIVEN else source)
        truth = Estimate()
        if source != GIVEN and known:
            truth = numbers.get(source, known, target)
        elif source != GIVEN:
            truth = numbers.get(source, metric, target, variable="truth")
        name = title.partition(" of {method")[0].format(**names)
        title = f"{title.format(**names)}, {whom_of(numbers, target)}"
        common = metric in ("swept_accuracy", "swept_brier")
        yield Swept(numbers, source, metric, target, name, title, common, truth)


def assumed_of(numbers, random="missing at random", other="what is assumed", tilt="the tilt"):
    """What Γ = 1 is, in print: labels missing at random, what a weighting assumes, or a tilt."""
    if numbers.plan.get("tilt"):
        return tilt
    return random if numbers.plan.get("at_random", True) else other


def outcome_of(numbers):
    """The outcome whose rate is told, in print."""
    return numbers.plan.get("outcome") or "outcome = 1"


def whom_of(numbers, target):
    """Whose rows, in print."""
    return numbers.plan.get("whom") or AMONG.get(target, target)


def blank_of(numbers, word="label"):
    """Those whose outcome nobody sees, in print."""
    return numbers.plan.get("whom") or f"rows without {'an' if word == 'outcome' else 'a'} {word}"


def turns(numbers, source, conclusion, target):
    """The side of a conclusion at Γ = 1 (above, below, "" for none), and where it turns."""
    sides = {
        side: numbers.get(source, "turns_at", target, part=conclusion, variable=side)
        for side in ("above", "below")
    }
    sides = {side: one for side, one in sides.items() if one.known}
    side = max(sides, key=lambda one: sides[one].mean, default="")
    return side, sides.get(side, Estimate())


def turn(conclusion, known):
    """A conclusion with its breakdown value; over repeats with the range of it."""
    text = turn_sentence(conclusion, known.mean if known.least < MOST else math.inf)
    if known.n > 1 and known.greatest > known.least and known.least < MOST:
        text = f"{text[:-1]} on average, {number(known.least, 1)} to {number(known.greatest, 1)} "
        text += f"over {known.n} splits."
    return text


def how_wrong(numbers):
    """What is assumed, the range at Γ = 2, breakdown values, and the truth where it is known."""
    shown = list(swept_of(numbers))
    if not shown:
        return
    yield (
        "How wrong it could be: labels may be missing for reasons that no column shows. Γ says by "
        "what factor, at equal features, the odds of an outcome may differ from what is assumed "
        f"of {blank_of(numbers)}. Γ = 1 is {assumed_of(numbers)}; Γ = {TWICE:g}, odds at most "
        "twice or half as large, is a point of reference and no estimate: no data tell Γ. Up to which Γ "
        "something holds is told of the estimate, sampling error aside."
    )
    if numbers.get("delivered", "unsupported_headline", shown[0].target).mean == 1:
        yield "Here Γ is of all rows, and the model is trusted for those like no labeled row."
    if shown[0].source != GIVEN:
        yield (
            f"Swept are the chances that {numbers.label(shown[0].source)} gives, calibrated on "
            "labeled test rows. Where its form is wrong for rows of other kinds than those, "
            "numbers are off at Γ = 1, though labels be missing at random."
        )
    yield from (f"{one.sentence}." for one in shown)
    yield from conclusions(numbers, shown[0].target)
    for one in shown:
        known = numbers.get(one.source, "gamma_of_truth", one.target, part=one.metric)
        if known.known and one.metric in ("swept_rate", "swept_accuracy"):
            size = f"the bounds contain it from Γ = {_factor(known.mean)} on"
            if known.mean <= 1.005:
                size = "the bounds contain it at Γ = 1 already"
            elif known.least >= MOST:
                size = f"it lies outside the bounds even at Γ = {MOST:g}"
            yield (
                f"The hidden labels, which nobody sees in practice: {one.title[0].lower()}"
                f"{one.title[1:]} is {in_words(one.truth, one.measure)}; {size}."
            )


def conclusions(numbers, target):
    """Sentences on the Γ at which conclusions turn."""
    main, whom = numbers.delivered[0] or numbers.main, whom_of(numbers, target)
    for source in dict.fromkeys((GIVEN, *(one.source for one in swept_of(numbers, target)))):
        side, known = turns(numbers, source, "rate", target)
        nearer = numbers.get(source, "e_value", target, part="rate", variable="interval")
        if side and not nearer.mean <= 1:
            rate = f"rate of {outcome_of(numbers)}"
            what = rate if numbers.measured("swept_rate", target) else "mean outcome"
            yield turn(f"The {what} among {whom} is {side} that of the labeled rows", known)
            break
    for source in (GIVEN, main):
        others = numbers.places("part", source, "turns_at", target) if source else []
        yield from _against(numbers, source, [one for one in others if one != "rate"], target)
        if others:
            break
    yield from by_columns(numbers, target)
    share = numbers.get(GIVEN, "decisions_open", target)
    if share.known:
        yield (
            f"{percent(share.mean)} of the decisions on {blank_of(numbers)} would turn if "
            f"their odds were {TWICE:g} times as large, or as small (estimates between 1/3 "
            "and 2/3)."
        )


def _against(numbers, source, others, target):
    """Sentences on whether the main method decides right more often than others.

    Of rows that tell no difference it is said that they do not.
    """
    main, open_ones = numbers.label(numbers.delivered[0] or numbers.main), []
    for other in others:
        side, known = turns(numbers, source, other, target)
        gain = numbers.get(source, "right_gain", target, part=other)
        size = f"({gap_in_words(gain, numbers.measure('right_gain'))})" if gain.known else ""
        against = "one answer for all"
        if other != "constant":
            against = numbers.label(other)
        if gain.known and gain.low <= 0 <= gain.high:
            open_ones.append(f"{against} {size}")
        elif side:
            more = {"above": "more", "below": "less"}[side] + " often than " + against
            yield turn(joined_words([f"{main} decides right {more}", size], " "), known)
    if open_ones:
        yield (
            f"Whether {main} decides right more often than {listing(open_ones)} the labeled rows "
            "do not tell."
        )


def by_columns(numbers, target):
    """Sentences on the E-value, and on a hidden column as strong as the strongest that is seen."""
    whom = blank_of(numbers, "outcome")
    without = "being one of them" if numbers.plan.get("whom") else "having no outcome"
    found = numbers.get(GIVEN, "e_value", target, part="rate")
    nearer = numbers.get(GIVEN, "e_value", target, part="rate", variable="interval")
    if found.known:
        rate = numbers.measured("swept_rate", target)
        what, by = (
            ("rate", "a risk ratio") if rate else ("mean", "what corresponds to a risk ratio")
        )
        text = (
            f"To make the {what} of {whom} that of the labeled ones, a hidden column would have to "
            f"go both with {without} and with the outcome by {by} of {_factor(found.mean)} "
            "beyond all columns (E-value)"
        )
        if nearer.mean > 1:
            yield f"{text}; for the nearer end of its interval, of {_factor(nearer.mean)}."
        else:
            yield f"{text}; its interval holds the {what} of the labeled ones already."
    shown = next(swept_of(numbers, target), None)
    columns = numbers.places("part", GIVEN, "column_gamma", target)
    columns = [one for one in columns if one != EITHER]
    if shown is None or not columns:
        return
    column = max(columns, key=lambda one: _of_column(numbers, target, one, "gamma").mean)
    gamma, selection, outcome = (
        _of_column(numbers, target, column, "gamma", which).mean
        for which in ("", "selection", "outcome")
    )
    ends, either = (
        [_of_column(numbers, target, one, "range", end).mean for end in ("least", "most")]
        for one in (column, EITHER)
    )
    yield (
        f"A hidden column as strong as {column}, the strongest that is seen, would mean "
        f"Γ = {_factor(gamma)}, and an answer anywhere from {shown.told(*ends)}, sampling error "
        "not counted. Beyond what the "
        f"other columns say, {column} changes the odds of having no outcome by a factor of up to "
        f"{_factor(selection)}, those of the outcome by up to {_factor(outcome)}, in 95 % of all "
        "pairs of rows."
    )
    largest = _of_column(numbers, target, EITHER, "gamma")
    if largest.mean > 1.005 * gamma:
        yield (
            "One that goes with having no outcome as strongly as any column does, and with the "
            f"outcome as strongly as any, would mean Γ = {_factor(largest.mean)}, and an answer "
            f"anywhere from {shown.told(*either)}."
        )


def _of_column(numbers, target, column, what, variable=""):
    return numbers.get(GIVEN, f"column_{what}", target, part=column, variable=variable)


def _factor(value):
    """A factor from 1 up, in print."""
    return "100 and more" if value > 100 else number(value, 2 if value < 1.95 else 1)


def _column_lines(numbers):
    for one in list(swept_of(numbers))[:1]:
        columns = numbers.places("part", GIVEN, "column_gamma", one.target)
        gammas = {name: _of_column(numbers, one.target, name, "gamma").mean for name in columns}
        for name in sorted(gammas, key=lambda name: (-gammas[name], name)):
            yield Line(GIVEN, str(name), {"part": name})


def _column_columns(numbers):
    for one in list(swept_of(numbers))[:1]:
        address, measure = (one.target, GIVEN), one.measure
        yield Column("column_gamma", "Γ of a hidden column as strong", *address, {}, "mean")
        for which, label in (
            ("selection", "Odds of no outcome"),
            ("outcome", "Odds of the outcome"),
        ):
            place = {"variable": which}
            yield Column("column_gamma", f"{label}, by up to", *address, place, "mean")
        for end in ("least", "most"):
            place, label = {"variable": end}, f"{one.name}, {end}"
            yield Column("column_range", label, *address, place, "mean", measure=measure)
        label = "Answer of a linear fit without it, minus that with it"
        yield Column("column_move", label, *address, {}, "mean", measure=measure)


#: How strong columns are that are seen, and what a hidden one as strong would do.
BY_COLUMN = Sheet(
    "A hidden column as strong as one that is seen",
    _column_lines,
    _column_columns,
    first="As strong as",
    note=(
        "Each column is left out in turn; the twelve strongest are shown. Factors are beyond what "
        "other columns say, and hold in 95 % of all pairs of rows; Γ is the most that a hidden "
        "column with both could mean."
    ),
    fold=True,
    best=False,
)


def _lines(numbers):
    for one in list(swept_of(numbers))[:1]:
        for setting in one.ends("least"):
            label = f"Γ = {setting_options(setting)['gamma']:g}"
            yield Line(one.source, label, {"setting": setting})


def _columns(numbers):
    for one in swept_of(numbers):
        for end in ("least", "most"):
            label, place = f"{one.title}: {end}", {"variable": end}
            yield Column(one.metric, label, one.target, one.source, place)


#: Bounds by Γ: a line each.
BY_GAMMA = Sheet(
    "How wrong it could be, by Γ", _lines, _columns, first="Odds at most", fold=True, best=False
)


#: What is so in the copies of each scenario, in words, and how a sentence says it.
REHEARSALS = {
    "assumed": ("what is assumed is so", "if what is assumed is so"),
    "outcome": (
        "odds of rows without an outcome {gamma:g} times what is assumed, or 1/{gamma:g}",
        "if their odds are {gamma:g} times what is assumed, or 1/{gamma:g} of it",
    ),
    "hidden": ("the strongest column is not shown", "if the strongest column were hidden"),
    "overlap": (
        "who has an outcome is twice as clear cut",
        "if who has an outcome were twice as clear cut",
    ),
}


#: The same of copies of a log.
LOGS_REHEARSED = REHEARSALS | {
    "outcome": (
        "odds of a reward of logged rows times {gamma:g}, or 1/{gamma:g}",
        "if odds of a reward of logged rows are {gamma:g} times, or 1/{gamma:g} of, what the same "
        "choices earn otherwise",
    )
}


def scenario_of(setting, say=1, words=REHEARSALS):
    """A scenario of a rehearsal in words: as a label (0), or in a sentence (1)."""
    name, gamma = next(iter(setting_options(setting).items()))
    return words[name][say].format(gamma=gamma or 1)


def rehearsed_parts(numbers):
    """What copies of a table tell of, but for one with blanks: setting and part of each."""
    target = numbers.plan["targets"][0]
    for part in numbers.places("part", REHEARSED, "rehearsed_off", target):
        for setting in numbers.places("setting", REHEARSED, "rehearsed_held", target):
            place = {"setting": setting, "part": part}
            if numbers.get(REHEARSED, "rehearsed_held", target, **place).known:
                yield setting, part


def about_promises(numbers):
    """Whether copies tell whether promises are kept, and not whether intervals hold a truth."""
    parts = [part for _, part in rehearsed_parts(numbers)]
    return bool(parts) and all(">=" in part or "<=" in part for part in parts)


def tried_on_copies(numbers):
    """How often the answer held the truth on copies of any table but one with blanks."""
    target, said = numbers.plan["targets"][0], {}
    for setting, part in rehearsed_parts(numbers):
        share = numbers.get(REHEARSED, "rehearsed_held", target, setting=setting, part=part)
        copies = _rows_of(numbers, setting)
        whole = round(share.mean * copies)
        often = f"in {whole} of {copies} copies"
        if abs(share.mean * copies - whole) > 1e-6:
            often = f"for {percent(share.mean)} of the people of {copies} copies"
        scenario = scenario_of(setting, words=LOGS_REHEARSED)
        said.setdefault(part, []).append(f"{often} {scenario}")
    for part, held in said.items():
        promised = about_promises(numbers)
        yield (
            "Rehearsed on synthetic copies of this table, in which the truth is known: "
            f"{part} was {'kept' if promised else 'within what was told'} {joined_words(held)}."
        )
    refused = numbers.get(REHEARSED, "rehearsed_refused", target, part="")
    if refused.known and refused.mean > 0:
        yield f"In {percent(refused.mean)} of the copies nothing could be delivered."


def rehearsed(numbers):
    """How often the answer held the truth on copies of the table; nothing where none were made."""
    target = numbers.plan["targets"][0]
    held = []
    for setting in numbers.places("setting", REHEARSED, "rehearsed_held", target):
        place = {"setting": setting, "part": "unlabeled"}
        copies = _rows_of(numbers, setting)
        share = numbers.get(REHEARSED, "rehearsed_held", target, **place)
        if share.known and copies:
            held.append(f"in {round(share.mean * copies)} of {copies} {scenario_of(setting)}")
    if held:
        yield (
            "Rehearsed on synthetic copies of this table, in which the truth is known: the interval "
            f"for the rows without an outcome held it {joined_words(held)}."
        )


def best_methods(numbers):
    """Which method was best on the hidden outcomes of most copies, beside the delivered one."""
    target = numbers.plan["targets"][0]
    for setting in numbers.places("setting", REHEARSED, "rehearsed_held", target)[:1]:
        delivered = numbers.label(numbers.delivered[0])
        place = {"setting": setting, "part": "unlabeled"}
        copies, known = _rows_of(numbers, setting), {}
        for method in numbers.places("variable", REHEARSED, "rehearsed_best", target):
            known[method] = [
                numbers.get(REHEARSED, f"rehearsed_{what}", target, variable=method, **place).mean
                for what in ("best", "mean_loss")
            ]
        if len(known) < 2 or delivered not in known:
            return
        first = max(known, key=lambda one: known[one][0])
        text = (
            f"In {round(known[first][0] * copies)} of {copies} copies ({scenario_of(setting, 0)}) "
            f"{first} had the least loss of all methods on the hidden outcomes"
        )
        if first == delivered:
            yield f"{text}: it is what is delivered."
        else:
            share, gap = known[delivered][0], known[delivered][1] - known[first][1]
            yield (
                f"{text}, and {delivered}, which is delivered, in {round(share * copies)}. Over "
                f"all copies its mean loss is {number(abs(gap), 4)} "
                f"{'larger' if gap > 0 else 'smaller'} than that of {first}."
            )


def _rows_of(numbers, setting):
    """How many copies were made of a scenario."""
    rows = numbers.rows(REHEARSED, "rehearsed_held")
    rows = rows[rows["setting"].eq(setting)]["rows"]
    return int(rows.iloc[0]) if len(rows) else 0


def _rehearsal_lines(numbers):
    target, whom = numbers.plan["targets"][0], {"unlabeled": "rows without an outcome"}
    if target == "general":
        whom[""] = "everyone"
    if not numbers.places("setting", REHEARSED, "rehearsed_held", target, part="unlabeled"):
        for setting, part in rehearsed_parts(numbers):
            label = f"{capital(scenario_of(setting, 0, LOGS_REHEARSED))}: {part}"
            yield Line(REHEARSED, label, {"setting": setting, "part": part})
        return
    for setting in numbers.places("setting", REHEARSED, "rehearsed_held", target):
        for part, words in whom.items():
            label = f"{capital(scenario_of(setting, 0))}: {words}"
            yield Line(REHEARSED, label, {"setting": setting, "part": part})


def _rehearsal_columns(numbers):
    target = numbers.plan["targets"][0]
    for metric in ("held", "off", "half_width", "rmse", "naive_rmse", "bounded", "reached"):
        show = "interval" if metric in ("held", "off") else "mean"
        label = "Kept" if metric == "held" and about_promises(numbers) else ""
        yield Column(f"rehearsed_{metric}", label, target=target, show=show)


#: The answer on copies of the table: a line for each scenario and population.
BY_REHEARSAL = Sheet(
    "Rehearsal on copies of this table",
    _rehearsal_lines,
    _rehearsal_columns,
    first="In the copies",
    note=(
        "A copy has the rows and columns of the table; what is not known of everybody is drawn anew "
        "from what was fitted to it, and the whole answer is made again."
    ),
    best=False,
)
#: What pages show of a rehearsal beside their answer.
REHEARSAL = (tried_on_copies, BY_REHEARSAL)
#: Columns that are named which set new people apart.
MOST_COLUMNS = 5


def newcomers(numbers):
    """How many new people are accepted, and how many are unlike the rows of the fit."""
    candidates, accepted, unlike, drift = (
        numbers.get("new rows", metric, "unlabeled", setting="").mean
        for metric in ("candidates", "candidates_accepted", "unlike", "drift")
    )
    if math.isnan(candidates):
        return
    told = (
        f"Of {number(candidates, 0)} new people {number(accepted, 0)} are accepted. "
        f"{number(unlike, 0)} are unlike the rows of the fit"
    )
    by = numbers.rows("new rows", "unlike")
    by = by[by["part"] != ""].sort_values("value", ascending=False)[:MOST_COLUMNS]
    if len(by):
        told += f", by {listing(by['part'])}"
        told += ": the balance and what is told of groups were not measured on such people"
    yield (
        f"{told}. The shares of the leaves differ from those of the fit by {percent(drift)} of "
        "the people. Where more than half are unlike the rows of the fit, nobody is accepted."
    )


# What weights and models of who is labeled rest on, and how fits went.


#: Columns of shares, and of differences in standard deviations.
SHARE = Measure("share", "share", "more", percent=True)
_SD = Measure("difference", "", "less", 2)


def _of(metric):
    """Mean of a metric of a weighting or a selector, whatever its target."""

    def value(numbers, line):
        known = (numbers.get(line.source, metric, target) for target in ("", *TARGETS))
        return next((one for one in known if one.known), Estimate())

    return value


def _share_of_rows(numbers, line):
    rows = numbers.rows(line.source, "effective_sample_size")["rows"]
    rows, size = rows[rows > 0], _of("effective_sample_size")(numbers, line)
    return size.times(1 / rows.mean()) if len(rows) else Estimate()


def _worst(metric):
    """The worst balanced feature's difference, in standard deviations."""

    def value(numbers, line):
        means = numbers.means_by("part", line.source, metric).dropna()
        return Estimate(mean=float(means.abs().max())) if len(means) else Estimate()

    return value


def _calibration_gap(numbers, line):
    predicted, observed = (
        numbers.means_by("part", line.source, f"calibration_{which}")
        for which in ("predicted", "observed")
    )
    gap = (predicted - observed).abs()
    return Estimate(mean=float(gap.mean())) if len(gap) else Estimate()


def mean_column(metric, label, value=None, measure=None, bound=None, term=""):
    value = value or _of(metric)
    return Column(metric, label, "general", None, {}, "mean", value, bound, measure, term)


#: What weights rest on: one line a weighting.
WEIGHTS = Sheet(
    "What the weights rest on",
    each_of("weightings"),
    (
        Column("effective_sample_size", "Effective rows", value=_of("effective_sample_size")),
        mean_column(
            "effective_sample_size",
            "Share of the labeled",
            _share_of_rows,
            SHARE,
            term="How many rows of weight 1 would say as much, as a share of the labeled rows.",
        ),
        mean_column("largest_weight", "Largest weight"),
        mean_column("rows_capped", "Rows at the cap"),
        mean_column("mean_weight", "Mean weight", term="1 where the selection model is right."),
        mean_column(
            "balance_before",
            "Largest difference before",
            _worst("balance_before"),
            _SD,
            term="Largest standardised difference of a feature between the labeled and the target.",
        ),
        mean_column(
            "balance_after",
            "Largest difference after",
            _worst("balance_after"),
            _SD,
            Bound(0.1, "Balanced: differences after weighting of at most 0.1 sd."),
        ),
    ),
    first="Weights",
    fold=False,
)
#: What is known of p(s=1|x): one line a selection model.
SELECTORS = Sheet(
    "The models of who is labeled",
    each_of("selectors"),
    (
        Column(
            "auc", "AUC", value=_of("auc"), term="How well it tells labeled from unlabeled rows."
        ),
        mean_column(
            "calibration_predicted",
            "Calibration gap",
            _calibration_gap,
            Measure("gap", "", "less", 3),
            Bound(0.03, "Calibrated: predicted and observed shares within 0.03 on average."),
        ),
        mean_column(
            "share_extreme",
            "Tiny probabilities",
            measure=Measure("share", "share", "less", 2, percent=True),
            term="Share of rows that are hardly ever labeled: weights say little of them.",
        ),
    ),
    first="Model",
    fold=False,
)


def fits(numbers):
    """Fits that did not converge fully, and updates that were held back."""
    rows = numbers.metrics[numbers.metrics["source"].isin(numbers.sources)]
    converged = rows[(rows["metric"] == "converged") & (rows["target"] != "")]
    short = converged[converged["value"] < 1]
    if len(short):
        names = listing(numbers.label(name) for name in short["source"].unique())
        yield f"{len(short)} of {count(len(converged), 'fit')} did not converge fully ({names})."
    held = rows[rows["metric"] == "components_held"]["value"].sum()
    if held:
        amount = count(int(held), "component update was", "component updates were")
        yield f"{amount} held back for lack of rows."
