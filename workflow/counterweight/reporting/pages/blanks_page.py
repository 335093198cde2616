"""Pages of tables with blank outcomes: the answer, how far to trust it, what is delivered."""

import functools
import math
from dataclasses import dataclass, replace

from counterweight.errors import CounterweightError
from counterweight.numerics.sensitivity import TWICE
from counterweight.reporting import blocks, sheets
from counterweight.reporting.numbers import results_table
from counterweight.reporting.pages.collected_page import (
    BOUGHT,
    bought_answer,
    explored,
    half,
    planned,
)
from counterweight.reporting.pages.trust import (
    BY_COLUMN,
    BY_GAMMA,
    BY_REHEARSAL,
    SELECTORS,
    WEIGHTS,
    best_methods,
    fits,
    how_wrong,
    rehearsed,
    swept_of,
)
from counterweight.reporting.sheets import Column, Line, Points, Sheet, each_method, in_words, told
from counterweight.reporting.study_page import Answer, StudyPage, doubt_of_all, doubt_of_single
from counterweight.reporting.wording import (
    as_written,
    capital,
    joined_words,
    listing,
    named,
    number,
    percent,
    places_for,
)
from counterweight.tables.saved_form import read_saved

#: Whom answers are for, in print.
FOR = {"general": "everyone in the table", "unlabeled": "the rows without an outcome"}
#: Share of the rows without an outcome that weights cannot make up for, from which one is warned:
#: a table whose chances of a label are spread evenly from 0 to 1 has .19.
APART = 0.25
#: Share of the rows without an outcome that rests on data, below which a sentence tells it.
WELL = 0.95
#: Metrics that tell how good answers are: the first that was measured leads.
QUALITY = ("auc", "r2", "log_loss", "mse")


@functools.lru_cache(8)
def facts(numbers):
    """What the saved model says of itself, read once a page; empty where there is none."""
    try:
        return read_saved(numbers.folder / "model.parquet").facts
    except CounterweightError:
        return {}


def table(numbers, target, reason_of):
    """Every method by the metrics of the study: `counterweight.reporting.numbers.results_table`."""
    return results_table(numbers, (target,), reason_of, tuple(numbers.plan["columns"]))


def answer(numbers):
    """What the outcome is among those that answers are for, and how good single answers are."""
    target, (method, _) = numbers.plan["targets"][0], numbers.delivered
    name = next((one for one in QUALITY if numbers.measured(one, target)), None)
    if method is None or name is None:
        return None
    saved, quality = facts(numbers), numbers.measure(name)
    people, swept = _People.of(numbers, saved), list(swept_of(numbers, target))
    known = {source: numbers.get(source, name, target) for source in numbers.sources}
    if saved.get("collected"):
        return _by_bought(numbers, people, quality, known[method])
    sentence = _bounded(people) if people.unsupported else _estimated(people, swept)
    found = f"{quality.label} {in_words(known[method], quality)}"
    ahead = sheets.expected_of(numbers, name, method)
    expected = f"{quality.label} {in_words(ahead, quality)} is to be expected"
    seen, shown = f"; on rows that it has not seen, the model has {found}", "cross-validated"
    if ahead.known and target == "unlabeled":
        seen, shown = f"; of these rows, {expected} of the model", "to expect of these rows"
        known = {source: sheets.expected_of(numbers, name, source) for source in known}
    sentence += seen * people.known
    stand = f"have the features of {saved.get('for') or FOR[target]}"
    stand = "stand for those that were dropped" if people.thinned else stand
    of_all = " It is that of all of them only if the condition of the first sentence holds."
    more = (
        saved.get("missed", ""),
        "" if people.supported.known else _apart(numbers, target),
        "" if people.unsupported else _methods_apart(people),
        *rehearsed(numbers),
        *planned(numbers),
        *_planned_for_groups(numbers),
        *explored(numbers),
    )
    rest = (
        *_wrong(numbers, saved, target, swept),
        _resting(people) if people.supported.known else "",
        f"On held-out labeled rows, weighted to {stand}, "
        f"{_delivered(numbers, saved)} has {found}"
        + (", before the tilt." if saved.get("tilt") else ".")
        + (of_all if swept else "")
        + f" On the rows without an outcome alone, {expected}, if its condition holds."
        * ahead.known,
        *([] if len(_parts(saved)) else [*saved.get("why", ())][-1:]),
        _outside(numbers, target),
    )
    points = [(numbers.label(one), known[one], "main" * (one == method)) for one in known]
    points = Points.of(points, quality)
    cards = (
        *_headline_cards(people, swept),
        *_other_cards(numbers, people, quality, known[method], shown),
    )
    doubt = doubt_of_single(name, known[method], quality)
    todo, about = tuple(_todo(numbers, doubt)), (_scores(people),)
    warning = doubt or doubt_of_all(name, known[method], quality)
    return Answer(f"{capital(sentence)}.", more, cards, points, rest, todo, about, warning)


def _by_bought(numbers, people, quality, known):
    """The answer where labels were bought by design: these have the last word."""
    more = (
        f"On held-out rows that had an outcome, {_delivered(numbers, people.saved)} has "
        f"{quality.label} {in_words(known, quality)}, before it was fitted to the labels bought.",
        *explored(numbers),
    )
    about = (
        f"scores.csv has an answer for each of the {number(people.sizes['all'], 0)} rows: known "
        "and bought outcomes as they are, estimates for the others, fitted to the labels bought. "
        "The answer above is by the chances of the labels bought, and not the mean of that column.",
    )
    answer = bought_answer(numbers, people, more, tuple(_headline_cards(people, [])))
    return replace(answer, files=about)


def _planned_groups(numbers):
    """Groups that a plan of labels is drawn for, a line each."""
    for name in numbers.places("part", "collect", "labels_planned", "unlabeled"):
        if name:
            yield Line("collect", str(name), {"part": name})


def _planned_columns(numbers):
    yield Column("labels_planned", target="unlabeled", show="mean")
    for kind in ("points", "half_width"):
        if numbers.measured(f"planned_{kind}", "unlabeled"):
            yield Column(f"planned_{kind}", target="unlabeled", show="mean")


def _planned_for_groups(numbers):
    """That a plan is drawn for groups, and what that costs of what it tells of all."""
    if not [*_planned_groups(numbers)]:
        return
    text = f"It is drawn for each group of collect.by: see “{_PLANNED_BY_GROUP.caption}”"
    budget = numbers.get("collect", "labels_budget", "unlabeled").mean
    plain = {"part": f"{budget:g}", "variable": "plain"}
    if any(
        numbers.get("collect", f"expected_{kind}", "unlabeled", **plain).mean
        < numbers.get("collect", f"planned_{kind}", "unlabeled").mean
        for kind in ("points", "half_width")
    ):
        text += (
            ". That has a price: a simple sample of as many labels tells of all these rows as "
            f"well as ±{half(numbers, 'expected', 'collect', 'unlabeled', **plain)}; leave "
            "collect.by out where groups are not asked for"
        )
    yield f"{text}."


#: What a plan that is drawn for groups is expected to tell of each.
_PLANNED_BY_GROUP = Sheet(
    "Labels to buy, by group",
    _planned_groups,
    _planned_columns,
    first="Group",
    note="Half of a 95 % interval, if estimates are right on average.",
    best=False,
)


def _todo(numbers, doubt):
    """What somebody who has this answer does next: with a `doubt`, not by single answers."""
    new, blank = numbers.plan.get("new_rows"), numbers.get("labels", "rows_unlabeled", "").mean
    file = "new_scores.csv" if not blank else "scores.csv"
    file = file if numbers.within == "." else f"{numbers.within}/{file}"
    later = "a file of people who come later"
    later = "the table of target" if numbers.plan.get("people") else later
    planned, exploring = (
        numbers.get("collect", name, "unlabeled").known
        for name in ("labels_planned", "explore_drawn")
    )
    if exploring:
        yield (
            "Decide in favour of each row of explore.csv, which chance has drawn, fill in their "
            "outcomes once all of a month are known, and name the file under collected: by them the "
            "answer needs no assumption."
        )
    elif planned:
        yield (
            "Find out the outcomes of the rows of collect.csv in their order, fill them in, and "
            "name the file under collected: by them the answer needs no assumption."
        )
    if doubt:
        yield (
            "Go by the answer for all of them, and look for columns that tell single rows apart."
        )
    elif new or blank:
        yield (
            f"Take single answers from {file} with their intervals, and look at rows that "
            f"are flagged before you decide on them{'.' if new else f'; name {later} under score.'}"
        )
    else:
        yield (
            f"All outcomes in scores.csv are known ones: name {later} under score, for an answer "
            "to each of them in new_scores.csv."
        )
    if numbers.plan.get("at_random", True) and blank and not (planned or exploring):
        what = "whether labels are missing at random"
        what = "how far labels are from missing at random" if numbers.plan.get("tilt") else what
        yield (
            f"Outcomes of some rows without one show {what}: collect: "
            f"{{budget: {min(blank, 200):.0f}}} lists those to buy."
        )


@dataclass(frozen=True)
class _People:
    """Whom the first sentence is of: what was measured of them, and what they are called."""

    numbers: object
    saved: dict
    target: str
    metric: str
    sizes: dict

    @classmethod
    def of(cls, numbers, saved):
        target = numbers.plan["targets"][0]
        metric = "target_rate" if numbers.measured("target_rate", target) else "target_mean"
        sizes = {
            which: numbers.get("labels", f"rows_{which}", "").mean
            for which in ("all", "labeled", "unlabeled")
        }
        return cls(numbers, saved, target, metric, sizes)

    def get(self, metric, **place):
        return self.numbers.get("delivered", metric, self.target, **place)

    def told(self, **place):
        """The mean outcome with its interval, in print; "" where it was not measured."""
        known = self.mean(**place)
        return in_words(known, self.measure) if known.known else ""

    def mean(self, **place):
        """The mean outcome, an `Estimate`; what a config says has no chance error."""
        known = self.get(self.metric, **place)
        given = known.low == known.high
        return known._replace(low=math.nan, high=math.nan) if given else known

    @property
    def measure(self):
        return self.numbers.measure(self.metric)

    @property
    def binary(self):
        return self.metric == "target_rate"

    @property
    def outcome(self):
        known = self.saved.get("outcome")
        return named(known) if known else "the outcome"

    @property
    def event(self):
        """The outcome and its value, of a class, as the table has it."""
        value = as_written((self.saved.get("classes") or self.saved.get("names") or ("0", "1"))[1])
        if value == self.saved.get("outcome"):
            return f"the outcome {named(value)}"
        plain = f"{value:g}" if not isinstance(value, str) else value if value.isdecimal() else ""
        return f"{self.outcome} = {plain or named(value)}"

    @property
    def known(self):
        """Whether all outcomes are known of those that answers are for."""
        uncounted = self.thinned and not self.numbers.plan.get("counted")
        return not (self.sizes["unlabeled"] or self.saved.get("for") or uncounted)

    @property
    def thinned(self):
        """Whether rows stand for others, of reward 0, that a log dropped."""
        return self.numbers.plan.get("thinned", False)

    @property
    def counted(self):
        """That shares of rows are by their design weights, where they are."""
        return ", by weight," if self.saved.get("designed") and not self.thinned else ""

    @property
    def blank(self):
        return f"the {number(self.sizes['unlabeled'], 0)} rows without an outcome"

    @property
    def whom(self):
        """Those that answers are for."""
        everyone = f"all {number(self.sizes['all'], 0)} rows"
        if self.thinned:
            everyone = "all rows of the log, those that were dropped included"
        return self.saved.get("for") or (self.blank if self.target == "unlabeled" else everyone)

    @property
    def unsupported(self):
        """Whether bounds stand in place of an estimate: too few of them are like labeled rows."""
        return self.get("unsupported_headline").mean == 1 and self.bounds("worst") is not None

    @property
    def supported(self):
        """Share of them that rests on data."""
        return self.get("supported_share")

    def bounds(self, part, metric="target_bounds", between=" to "):
        """``12.0 to 31.0 %``: ends of a kind of bounds; None where they were not measured."""
        ends = [self.get(metric, part=part, variable=end).mean for end in ("low", "high")]
        if any(map(math.isnan, ends)):
            return None
        unit, factor = (" %", 100) if self.binary else ("", 1)
        places = 1 if self.binary else places_for(ends)
        return between.join(number(factor * end, places) for end in ends) + unit

    def say(self, whom, value, guess="an estimated "):
        """A clause: that so many of them have the outcome; `whom` None were named before."""
        if not whom:
            if self.binary:
                return f"{guess}{value} of them have {self.event}"
            return f"their {self.outcome} is {guess}{value} on average"
        if self.binary:
            return f"of {whom}, {guess}{value} have {self.event}"
        return f"over {whom}, {self.outcome} is {guess}{value} on average"


def _estimated(people, swept):
    """The first sentence: for the rows that the question names, then for everyone."""
    given = people.known or (people.saved.get("tilt") or {}).get("by") == "rate"
    guess = "" if given else "an estimated "
    text = people.say(None if people.saved.get("for") else people.whom, people.told(), guess)
    if people.target == "general" and people.sizes["unlabeled"]:
        asked = people.told(part="unlabeled")
        if asked:
            first = people.say(people.blank, asked, guess)
            share = people.get("supported_share", part="unlabeled").mean
            if share < WELL:
                first += f" ({_rest(share)} of these{people.counted} are like no row that has one)"
            whose, what = ("of", "") if people.binary else ("over", "it is ")
            text = f"{first}; {whose} {people.whom}, known outcomes and estimates together, "
            text += f"{what}{people.told()}"
    text = _designed(people) + text
    if not swept:
        return text
    return _condition(people.saved) + text + _range(swept[0], people)


def _designed(people):
    """That rows count by weights of their own, where they do."""
    designed = people.saved.get("designed") and not people.thinned
    return "weighted by design, " if designed else ""


def _bounded(people):
    """The first sentence where too many rows are unlike all that have an outcome: bounds."""
    share, worst = people.supported.mean, people.bounds("worst", between=" and ")
    blank = people.get("supported_share", part="unlabeled")
    if people.target == "general" and blank.known:
        apart = (
            f"{_rest(blank.mean)} of {people.blank}{people.counted} are like no row that has one"
        )
    else:
        apart = f"{_rest(share)} of them{people.counted} are like no row that has an outcome"
    free = "of which none or all may have it"
    if not people.binary:
        free = "which may have any value from the least to the largest that is known"
    text, whose = _condition(people.saved) + _designed(people), ""
    asked = people.bounds("unlabeled worst", between=" and ")
    if asked:
        whose = f"{'of' if people.binary else 'over'} {people.whom}"
        text += people.say(people.blank, asked, "between ")
        text += f"; {whose}, known outcomes and estimates together, between {worst}"
    else:
        whom = None if people.saved.get("for") else people.whom
        text += people.say(whom, worst, "between ")
    text += f": {apart}, {free}"
    near = people.bounds("gamma=2")
    if near:
        near = f"{whose} {near}".lstrip()
        text += f"; {near} if their odds are at most twice, and at least half, what the model says"
    told = people.told(part="supported")
    if told:
        of = "all" if people.target == "general" and not people.saved.get("for") else "them"
        whom = f"the {percent(share, 0)} of {of}{people.counted} that rest on data"
        text += f". {capital(people.say(whom, told))}"
    return text


def _rest(share):
    """What is left of a share, in print."""
    return percent(1 - share, 0 if share < 0.99 else 1)


def _resting(people):
    """What share of the answer rests on data, where it is not all of it."""
    share = people.supported.mean
    if math.isnan(share) or share > 1 - 1e-9 or people.unsupported:
        return ""
    text = (
        f"{percent(share)} of {people.whom}{people.counted} rest on data: their outcome is known, "
        "or rows like them have one."
    )
    worst = people.bounds("worst")
    return text + (f" Whatever the others are, the answer is in {worst}." if worst else "")


def _delivered(numbers, saved):
    """The method that is delivered, with its parts and their shares where there are several."""
    label, parts = saved.get("method") or numbers.label(numbers.delivered[0]), _parts(saved)
    if len(parts) < 2:
        return parts[0][0] if parts else label
    shares = "; ".join(f"{percent(share, 0)} {name}" for name, share in parts)
    return f"the {label[:1].lower()}{label[1:]} ({shares})"


def _parts(saved):
    """Labels and shares of what is combined, largest first, without those that hardly count."""
    parts = [(name, share) for name, share in saved.get("parts", ()) if share >= 0.005]
    return sorted(parts, key=lambda part: -part[1])


def _scores(people):
    """What stands in the file of answers."""
    text = f"scores.csv has an answer for each of the {number(people.sizes['all'], 0)} rows"
    same = ""
    if people.numbers.plan.get("new_rows") == "target":
        same = (
            " The mean of the estimates in new_scores.csv is the model's alone; the first sentence "
            "is about the same people, and adds by how much the model errs on rows with an outcome "
            "that are weighted to them."
        )
    if not people.sizes["unlabeled"]:
        kept = " The rows that were dropped are not in it." if people.thinned else ""
        return f"{text}: known outcomes as they are.{kept}{same}"
    if people.saved.get("for"):
        return f"{text}.{same}"
    whose = "all" if people.target == "general" else "those without an outcome"
    return (
        f"{text}: known outcomes as they are, estimates for the others. The mean of its column "
        f"estimate over {whose} is {people.told().partition(' [')[0]}"
        + (", with the design weights." if people.saved.get("designed") else ".")
    )


def _headline_cards(people, swept):
    """What the outcome is, for whom: estimates, or bounds where too little rests on data."""
    label = f"{people.event if people.binary else people.outcome}, {{}}".format
    gamma = f"{swept[0].range(TWICE)} at Γ = {TWICE:g}" if swept else ""
    if people.unsupported:
        share = people.supported.mean
        note = f"{people.whom}; {percent(share, 0)} rest on data"
        yield blocks.Card(label("bounds"), people.bounds("worst"), "", note)
        known = people.mean(part="supported")
        if known.known:
            note = "of those that rest on data"
            yield blocks.Card(label("estimated"), *told(known, people.measure), note)
        return
    asked = people.mean(part="unlabeled")
    if people.target == "general" and asked.known and people.sizes["unlabeled"]:
        yield blocks.Card(
            label("estimated where blank"), *told(asked, people.measure), people.blank
        )
        how = "known and estimated"
    else:
        how = "known" if people.known else "estimated"
    known, note = people.mean(), joined_words([people.whom, gamma], "; ")
    yield blocks.Card(label(how), *told(known, people.measure), note)


def _other_cards(numbers, people, quality, known, shown):
    """How good single answers are, and how many rows stand behind them."""
    worth, outside = (
        number(people.get(which).mean, 0) for which in ("effective_rows", "rows_outside")
    )
    labeled, blank = (number(people.sizes[which], 0) for which in ("labeled", "unlabeled"))
    yield blocks.Card(capital(quality.label), *told(known, quality), shown)
    yield blocks.Card("Rows to learn from", labeled, "", f"worth {worth} once weighted")
    if people.saved.get("for"):
        if people.supported.known:
            share = percent(1 - people.supported.mean)
            yield blocks.Card("Unlike any labeled row", share, "", f"of {people.whom}")
    elif people.sizes["unlabeled"]:
        yield blocks.Card("Rows unlike any labeled", outside, "", f"of {blank} without an outcome")


def _assumes(saved):
    """How the first sentence begins, and what is taken for granted, if the model's file says it."""
    return saved.get("assumes") or (saved.get("tilt") or {}).get("assumes")


def _condition(saved):
    """Under what the first sentence holds; it says nothing without."""
    assumes, tilt = _assumes(saved), saved.get("tilt")
    if assumes:
        return f"{assumes['if']}, "
    if tilt is None:
        if saved.get("for"):
            return f"If outcomes of {saved['for']} are, at equal features, those of labeled rows, "
        return "If labels are missing at random, "
    odds = f"the odds of rows without an outcome are {tilt['odds']:.3g} times those of like rows"
    source = {"times": "as is given", "rate": "which meets the rate that is given"}
    return f"If {odds}, {source.get(tilt['by'], 'as estimated')}, "


def _range(one, people):
    """What Γ = 2 makes of the estimate, its interval included."""
    span = one.range(TWICE)
    if not people.saved.get("names"):
        return (
            f", or {span} if, at equal features, the odds of being without one differ between any "
            "two values by a factor of up to 2"
        )
    among = "them" if people.saved.get("for") else "rows without an outcome"
    random = people.numbers.plan.get("at_random", True) and not people.saved.get("tilt")
    like = random or people.saved.get("for")
    given = (people.saved.get("tilt") or {}).get("by") == "rate"
    assumed = "what meets that rate" if given else "what is assumed"
    of = "those of like rows that have one" if like else assumed
    return f", or {span} if the odds of {people.event} among {among} are up to twice or half {of}"


def _wrong(numbers, saved, target, swept):
    """What the condition rests on."""
    if not swept:
        return
    assumed = "differ by this factor, the same for all," if saved.get("tilt") else "do not differ"
    rests = (_assumes(saved) or {}).get("rests") or (
        "Estimates suppose that rows with the same features, with and without an outcome, "
        f"{assumed} in how they turn out, and nothing in the table can show that."
    )
    if numbers.get("delivered", "unsupported_headline", target).mean == 1:
        yield rests
        return
    error = ", sampling error included," if swept[0].chance else ","
    yield (
        f"{rests} The range at Γ = {TWICE:g}, {swept[0].range(TWICE)}{error} is a point of "
        "reference and no estimate."
    )
    if saved.get("tilt"):
        yield from (one for one in saved["rests_on"][1:] if one not in rests)


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


def _methods_apart(people):
    """A warning where what the tried methods say, each put right by the weights, differs.

    A doubly robust estimate is right where its method or the weights are, so that all would agree
    if the weights were right. Their difference is of the same rows, and has less chance error than
    either: further apart than the interval is to a side is more than chance.
    """
    known = people.mean()
    metric = f"{'rate' if people.binary else 'mean'}_doubly_robust"
    values = people.numbers.rows("delivered", metric, people.target)["value"]
    half = (known.high - known.low) / 2
    if not known.bounded or len(values) < 2 or values.max() - values.min() <= half:
        return ""
    unit, factor = (" points", 100) if people.binary else ("", 1)
    sizes = factor * (values.max() - values.min()), factor * half
    gap, reach = (number(size, places_for([min(sizes)], 0)) for size in sizes)
    return (
        f"Careful: put right by the same weights, what the tried methods say of "
        f"{FOR[people.target]} differs by up to {gap}{unit}, and the interval reaches {reach} to "
        "either side. They would agree if the weights were right: the estimate rests on its "
        "method, and its interval leaves that out."
    )


def _outside(numbers, target):
    """How many rows resemble nobody labeled, and what sets them apart."""
    rows = numbers.get("delivered", "rows_outside", target)
    blank = numbers.get("labels", "rows_unlabeled", "")
    if not blank.known or not blank.mean or facts(numbers).get("for"):
        return ""
    why = listing(numbers.rows("delivered", "rows_outside_by")["part"])
    return (
        f"Of the {number(blank.mean, 0)} rows without an outcome, {number(rows.mean, 0)} "
        f"({percent(rows.mean / blank.mean)}) resemble no row that has one, so that their answers "
        f"rest on the form of the model alone{f'; what sets them apart is {why}.' if why else '.'}"
    )


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
    groups = numbers.get("labels", "groups_labeled", "").mean
    if not math.isnan(groups):
        yield f"They are of {number(groups, 0)} groups: errors and intervals are those of groups."
    different = numbers.get("labels", "rows_different", "").mean
    if not math.isnan(different):
        yield (
            f"{number(different, 0)} of them differ, the others are copies: these share a fold and "
            "count as one row for errors and intervals."
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


def _question(numbers):
    saved = facts(numbers)
    outcome = named(saved["outcome"]) if "outcome" in saved else "the outcome"
    if saved.get("for"):
        return f"What would {outcome} be among {saved['for']}?"
    if not numbers.get("labels", "rows_unlabeled", "").mean:
        return f"What is {outcome}, and how well do the other columns foretell it?"
    return f"What would {outcome} be where it is blank?"


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
        sheets.EXPECTED,
        _PLANNED_BY_GROUP,
        *BOUGHT,
    ),
    trust=(
        why,
        how_wrong,
        best_methods,
        BY_REHEARSAL,
        BY_GAMMA,
        BY_COLUMN,
        sizes,
        WEIGHTS,
        SELECTORS,
        fits,
    ),
    details=(
        Sheet(
            "The same on the labeled rows as they are",
            each_method,
            _columns("auc", "log_loss", "r2", "mse", part="labeled"),
        ),
    ),
    question=_question,
)
