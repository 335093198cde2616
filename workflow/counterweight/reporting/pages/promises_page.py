"""What methods are requested to keep, by the texts of the plan, and what came of each promise.

A constraint on a rate, or on a ratio of two, is a limit on the measure of the study that has the
same expression, whatever the measure is called. What the study itself says goes first.
"""

import functools
import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from counterweight.evaluation.rates import RULES, requested_value
from counterweight.models.constraints.certificates import MOST, rounded
from counterweight.models.constraints.thresholds import turned_round
from counterweight.numerics.rates.language import (
    PARAMETERS,
    Number,
    Operation,
    Parameter,
    Rate,
    nodes,
    parse_constraint,
    parse_expression,
    set_text,
)
from counterweight.numerics.rates.limits import loosened_text
from counterweight.numerics.rates.values import (
    ROUNDING,
    Constant,
    constraints_requested,
    plain_constraints,
    verdict,
)
from counterweight.reporting import blocks
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.pages.trust import outcome_of
from counterweight.reporting.sheets import Column, Line, Sheet, gap_in_words, in_words
from counterweight.reporting.sheets import told as told_as
from counterweight.reporting.wording import Measure, capital, count, listing, number, percent
from counterweight.tables.parquet import setting_options

#: Options of models that hold constraints.
TEXTS = ("constraint", "constraints")
#: More promises than these are told by one of them.
NAMED = 4
#: Broken and undecided promises that the first sentence names; more are counted there.
IN_BRIEF = 2
#: A limit binds where training rows come to this share of it.
BINDING = 0.98

#: What an estimate is, by what is told of what was delivered.
ESTIMATES = {
    "outcome": "the chance of that",
    "decision": "the decision itself, 1 or 0",
    "yes": "0.5 plus the score of a machine, cut at 0 and 1: no chance, nor what decides alone",
}

_constraints = functools.lru_cache(None)(parse_constraint)
_expression = functools.lru_cache(None)(parse_expression)


class Limit(NamedTuple):
    """What a setting asks of a measure: at most a value, or at least.

    ``deployed``: the value is relative to the measure of the deployed model on the same rows.
    """

    measure: str
    least: bool
    value: float
    deployed: bool = False


def _product(tree, options):
    """An expression as a factor and powers of rates; raises where it is no such product."""
    if isinstance(tree, Rate):
        return 1.0, {tree: 1}
    if not isinstance(tree, Operation):
        return float(tree.value if isinstance(tree, Number) else options[tree.name]), {}
    (a, first), (b, second) = _product(tree.left, options), _product(tree.right, options)
    if tree.sign in "+-":
        if first or second:
            raise ValueError
        return a + b if tree.sign == "+" else a - b, {}
    turn = 1 if tree.sign == "*" else -1
    powers = {rate: first.get(rate, 0) + turn * second.get(rate, 0) for rate in first | second}
    return a * b**turn, {rate: power for rate, power in powers.items() if power}


def _limit(constraint, options, measures):
    """The first measure that a constraint limits, as a `Limit`; None if it limits none."""
    whole = Operation("/", constraint.left, constraint.right)
    for name, text in measures.items():
        try:
            factor, powers = _product(whole, options)
            scale, own = _product(_expression(text), {})
        except (ValueError, KeyError, TypeError, ZeroDivisionError):
            continue
        relative = own | {replace(rate, deployed=True): -power for rate, power in own.items()}
        for turn in (1, -1):
            turned = {rate: turn * power for rate, power in powers.items()}
            if factor > 0 and turned in (own, relative):
                least = (constraint.sign == ">=") == (turn == 1)
                return Limit(name, least, scale / factor**turn, turned == relative)
    return None


@functools.lru_cache(2048)
def limits_of(numbers, source, setting=""):
    """What a setting of a method asks for: a tuple of `Limit`; what the study says goes first.

    A method that takes no text is held to what those of others say, if it has the numbers in them.
    """
    protocol, own = numbers.plan["protocol"]["options"] or {}, numbers.method(source)["options"]
    measures, said = protocol.get("measures") or {}, protocol.get("asked")
    options, known = (own or {}) | setting_options(setting), {}
    if said and not math.isnan(value := requested_value(said, options)):
        least = said["form"] == "at_least"
        known[said["measure"], least] = Limit(said["measure"], least, value)
    takes = any(text in options for text in TEXTS)
    for one in [numbers.method(source)] if takes else numbers.methods():
        texts = [(one["options"] or {}).get(name) or [] for name in TEXTS]
        for text in [*([texts[0]] if texts[0] else []), *texts[1]]:
            for constraint in _constraints(text):
                sides = constraint.left, constraint.right
                if takes or any(any(nodes(side, Parameter)) for side in sides):
                    limit = _limit(constraint, options, measures)
                    if limit:
                        known.setdefault((limit.measure, limit.least), limit)
    return tuple(sorted(known.values(), key=lambda limit: limit.deployed))


def settings_of(numbers, source):
    """Settings of a method whose rates were measured."""
    return numbers.settings(source, RULES[0], "general")


def asking(numbers, source):
    """Those that ask for something."""
    return [name for name in settings_of(numbers, source) if limits_of(numbers, source, name)]


def main_of(numbers):
    """The method that the study is about: the named one, else the first with a constraint."""
    main, baseline = numbers.main, numbers.baseline
    if main is None or numbers.plan.get("main") == main:
        return main
    order = sorted(numbers.sources, key=lambda name: name != main)
    return next((one for one in order if one != baseline and asking(numbers, one)), main)


def requested_measures(numbers):
    """Measures of which anything is requested, those of the main method first."""
    return list(
        dict.fromkeys(
            limit.measure
            for source in filter(None, [main_of(numbers), *numbers.sources])
            for setting in asking(numbers, source)
            for limit in limits_of(numbers, source, setting)
        )
    )


def rule_of(numbers, source):
    """The rule of prediction by which a method keeps what is requested; its model declares it."""
    return numbers.method(source).get("rule") or RULES[1]


def is_share(numbers, measure):
    """Whether differences of a measure are told in points."""
    return numbers.measure(RULES[0], measure).unit == "share"


def excess(numbers, source, setting, limit, rule, target="general"):
    """By how much a measure breaks its limit, as an `Estimate`; below 0 it is kept.

    In shares for shares; for others relative to the limit, and unknown where that is 0.
    """
    address, place = (source, rule, target), {"measure": limit.measure, "setting": setting}
    wanted, over = limit.value, numbers.get(*address, **place)
    if limit.deployed:
        other = wanted * numbers.values(source, "deployed", measure=limit.measure)
        wanted, over = other.mean(), numbers.difference(numbers.values(*address, **place), other)
        over = over if target == "general" else Estimate()
    else:
        ends = {end: getattr(over, end) - wanted for end in ("mean", "low", "high")}
        over = over._replace(**ends)
    if not is_share(numbers, limit.measure):
        over = over.times(1 / wanted) if wanted else Estimate()
    return over._replace(mean=-over.mean, low=-over.high, high=-over.low) if limit.least else over


def binds(numbers, source, setting):
    """Whether a setting asks for something that training rows do not give with room."""
    for limit in limits_of(numbers, source, setting):
        if not limit.deployed:
            place = {"measure": limit.measure, "setting": setting}
            seen = numbers.get(source, rule_of(numbers, source), "train", **place)
            seen = seen if seen.known else numbers.get(source, rule_of(numbers, source), **place)
            low, high = sorted((seen.mean, limit.value))
            broken = (seen.mean > limit.value) != limit.least
            if seen.known and (broken or low >= BINDING * high):
                return True
    return False


# Promises of classifiers, one by one: what came of each, on the rows of the fit and others.


#: Rules of prediction in print, and where their numbers stand.
BY = {"deterministic": "by decisions", "randomised": "by chances"}
TRAIN, TEST = "train", "general"
_SIDE = Measure("side of a promise", digits=3)
_EXCESS = Measure("excess", digits=3)


@dataclass(frozen=True)
class Verdict:
    """kept, broken or undecided: by the interval, or as a fact of the rows of the fit."""

    says: str
    fact: bool = False

    def judge(self, estimate):
        if not estimate.known:
            return ""
        ends = (estimate.mean, estimate.mean) if self.fact else estimate.ends
        return verdict(estimate.mean, *ends, self.fact)


ON_TRAIN = Verdict("On the rows of the fit: kept if broken by no more than rounding.", True)
ON_TEST = Verdict(
    "On rows held out: kept or broken if the whole 95 % interval says so, else undecided."
)


def inline(numbers, source):
    """A method's name inside a sentence."""
    label = numbers.label(source)
    return f"t{label[1:]}" if label.startswith("The ") else label


def _requested(numbers, source):
    """The promises of a method as its config has them."""
    methods = {one["id"]: one for one in numbers.methods()}
    found = constraints_requested({"methods": methods, "main": numbers.plan.get("main")}, source)
    return found["texts"] if found else []


def texts_of(numbers, source):
    """The plain promises that a method is held to, as texts; empty where none were measured."""
    texts = [plain.text for plain in plain_constraints(_requested(numbers, source))]
    place = {"part": "0", "rule": "deterministic"}
    lines = (Line(source, "", place | {"setting": one}) for one in settings_of(numbers, source))
    return texts if any(_value("excess", TEST)(numbers, line).known for line in lines) else []


def _value(what, target):
    """What was measured of the promise, the setting and the rule of a line."""

    def value(numbers, line):
        place = dict(line.place)
        rule = place.pop("rule")
        return numbers.get(line.source, f"promise_{what}_{rule}", target, **place)

    return value


def broken_by(numbers, source, promise, target=TEST, rule="deterministic"):
    """By how much a method breaks a promise by a rule (decisions) on rows, as an `Estimate`."""
    place = {"part": str(promise), "rule": rule}
    return _value("excess", target)(numbers, Line(source, "", place))


def on_fit(numbers, source, promise, rule="deterministic"):
    """By how much a promise is broken on the rows of the fit, as an `Estimate`.

    Of what is delivered, where that is told: means over splits say nothing of its decisions.
    """
    place = {"part": str(promise)}
    known = numbers.get("delivered", f"promise_excess_{rule}", **place)
    if source == main_of(numbers) and known.known:
        return known
    return broken_by(numbers, source, promise, TRAIN, rule)


def worst_promise(numbers, main):
    """The promise that decisions on test rows come nearest to breaking, or break most, and by how
    much; None where promises are not measured one by one."""
    texts = texts_of(numbers, main)
    if not texts or settings_of(numbers, main) != [""]:
        return None
    over = [(text, broken_by(numbers, main, j)) for j, text in enumerate(texts)]
    return max((one for one in over if one[1].known), key=lambda one: one[1].mean, default=None)


def promise_answer(numbers, main):
    """The sentence on promises, further ones and cards; None of a sweep or without promises."""
    texts = texts_of(numbers, main)
    if not texts or settings_of(numbers, main) != [""]:
        return None
    (certified, how), cards, told = _certified(numbers, texts), [], {}
    alone = numbers.plan["source"] == "own"
    for target, bound, where in (
        (TRAIN, ON_TRAIN, "rows of the fit"),
        (TEST, ON_TEST, "held-out rows"),
    ):
        for rule, by in BY.items():
            seen = [
                on_fit(numbers, main, j, rule)
                if target == TRAIN
                else broken_by(numbers, main, j, target, rule)
                for j in range(len(texts))
            ]
            judged = [bound.judge(one) for one in seen]
            kept = [ON_TRAIN.judge(one) for one in seen].count("kept")
            told[target, rule] = kept, judged
            counts = {word: judged.count(word) for word in ("broken", "undecided")}
            note = ", ".join(f"{many} {word}" for word, many in counts.items() if many)
            if target == TEST:
                shown = f"{judged.count('kept')} can be shown kept at 95 %"
                shown = "by test rows of the splits" if certified else shown
                note = f"{shown}{note and f', {note}'}"
            label = f"Promises kept {by}, {where}"
            if rule == "deterministic" or not alone:
                cards.append(blocks.Card(label, f"{kept} of {len(texts)}", note=note))
    (fit, _), (kept, new) = (told[target, "deterministic"] for target in (TRAIN, TEST))
    named, long = [], []
    for word in ("broken", "undecided"):
        those = [text for text, said in zip(texts, new, strict=True) if said == word]
        many = len(those) > IN_BRIEF
        named += [f"{len(those)} {word}" if many else f"{word}: {listing(those)}"] * bool(those)
        long += [f"{capital(word)} by held-out rows: {listing(those)}."] * many
    shown = f"{new.count('kept')} of {len(texts)} can be shown kept at 95 %"
    shown += f" ({'; '.join(named)})" * bool(named)
    costs, behind = _costs(numbers, main)
    (judged, worse), price = _own_cost(numbers, main), _price(numbers, main)
    if certified:
        said = f"{certified}{judged or price}."
        # Other fits, and fewer rows: what these leave open is no word against the certificate.
        sure, more = " beyond chance", {"undecided": ", which says nothing against the certificate"}
        shown = [f"{new.count(one)} {one}{more.get(one, sure)}" for one in dict.fromkeys(new)]
        shown = f"{kept} of {len(texts)} kept by estimates ({'; '.join(shown)})"
        how += [f"Test rows of the splits, each with a fit of its own, have {shown}{price}."]
    else:
        level = percent(_delivered(numbers, "confidence"), 0)
        open_ = f"; the delivered model is not certified at {level}{judged}" if how else ""
        said = (
            f"By its decisions {inline(numbers, main)} keeps {kept} of "
            f"{count(len(texts), 'promise')} by the estimates of test rows, and {shown}"
            f"{price}{open_}."
        )
        how = how or _undecided(numbers, main, new)
    own = [f"On the rows of its fit it keeps {fit} of {len(texts)}."] if fit < len(texts) else []
    if len(requested := _requested(numbers, main)) != len(texts):
        own.append(f"The {len(texts)} promises are those of {listing(requested)}.")
    more = (*own, *how, *long, *worse, *_unlabeled(numbers))
    return f"{behind}{_out_of_reach(numbers, main)}{said}", more, [*costs, *cards]


def _unkept(numbers, main):
    """By how much decisions of a method break promises on the rows of its fit, by their texts."""
    texts = texts_of(numbers, main)
    over = {text: on_fit(numbers, main, j) for j, text in enumerate(texts)}
    return {text: one.mean for text, one in over.items() if ON_TRAIN.judge(one) == "broken"}


def _out_of_reach(numbers, main):
    """That no thresholds keep what is asked, where that is so on the rows of the fit."""
    missed = [f"{text} (missed by {number(by, 3)})" for text, by in _unkept(numbers, main).items()]
    if not missed or numbers.plan["source"] != "own":
        return ""
    return (
        f"No classifier that was tried keeps {listing(missed)} on the rows of its fit: "
        "ask for less, or add columns that tell more. "
    )


def _unlabeled(numbers):
    """What promised rates of outcomes are among all rows, where some have none; else nothing."""
    known = {
        name: numbers.rows("delivered", f"rate_{name}").set_index("part")["value"].dropna()
        for name in ("seen", "expected")
    }
    rates = [rate for rate in known["expected"].index if rate in known["seen"].index]
    if not rates:
        return []
    labeled = numbers.rows("delivered", "fit_labeled").iloc[0]
    seen = listing(f"{rate} is {number(known['seen'][rate], 3)}" for rate in rates)
    among = [number(known["expected"][rate], 3) for rate in rates]
    told = "it is" if len(rates) == 1 else "these are"
    return [
        f"What is promised of outcomes counts the {number(labeled['value'], 0)} of "
        f"{number(labeled['rows'], 0)} rows that have one: {seen} among these. Among all rows "
        f"{told} {listing(among)}, by the chances of scores.csv, if outcomes are missing at random."
    ]


def _own_cost(numbers, main):
    """The error of the delivered decisions: a clause by the rows that judged them, where some did;
    else a sentence where rows of their own fit have more than test rows of the splits."""
    cost, error = _delivered(numbers, "cost"), numbers.get(main, RULES[0], measure="error")
    what = costed(numbers, main)
    if _delivered(numbers, "judges") > 0 and not math.isnan(cost):
        return f"; its {what} is {percent(cost)} on the rows that judged it", []
    if what != "error" or not cost > error.mean:
        return "", []
    return "", [
        f"The delivered decisions err in {percent(cost)} of the rows of their own fit, more than "
        "those of the splits on test rows: of new people expect at least as many."
    ]


def costed(numbers, main):
    """What a method is to have little of, in print."""
    asked = (numbers.method(main)["options"] or {}).get("objective")
    return "error" if asked in (None, "error(labeled)") else asked


def _price(numbers, main):
    """The error of the decisions on test rows, and how far without promises, as a clause."""
    error = numbers.get(main, RULES[0], measure="error")
    if not error.known:
        return ""
    style, gap = numbers.measure(RULES[0], "error"), Estimate()
    free = [one["id"] for one in numbers.methods() if (one["options"] or {}).get(TEXTS[1]) == []]
    base = next((one for one in free if one != main), None)
    if base:
        gap = numbers.against(base, main, RULES[0], measure="error")
    than = f", {gap_in_words(gap, style)} from {inline(numbers, base)}" if gap.known else ""
    return f"; they err in {in_words(error, style)} of the test rows{than}"


def next_steps(numbers, main):
    """What somebody who has these decisions does next."""
    new = "new_scores.csv" if numbers.plan.get("new_rows") else "scores.csv"
    if missed := _unkept(numbers, main):
        yield (
            f"Ask for less than {listing(missed)}, or add columns that tell more, before anybody "
            f"decides as {new} says: its decisions come nearest to that, and do not keep it."
        )
    else:
        known = numbers.rows("delivered", "estimate")["part"]
        told = ESTIMATES[known.iloc[0] if len(known) else "outcome"]
        yield (
            f"Decide as {new} says: its decisions are those of the promises above. A yes stands "
            f"for {outcome_of(numbers)}, and its estimate is {told}."
            f"{_chosen(numbers)}{_cuts(numbers)}"
            + " Compare the shares of a yes by group (below, if told): promises are about people "
            "like those of the table." * bool(numbers.plan.get("new_rows"))
        )
    if math.isnan(_delivered(numbers, "confidence")):
        yield (
            "For promises that hold for new people with a known chance, add confidence: 0.95; the "
            "page then says which are certified, and how many rows others would take."
        )


def _chosen(numbers):
    """Which of several classifiers decides."""
    known = numbers.rows("delivered", "delivered_from")["part"]
    methods, main = numbers.methods(), main_of(numbers)
    words = next((one.get("candidates") or [] for one in methods if one["id"] == main), [])
    if not len(known) or int(known.iloc[0]) > len(words):
        return ""
    taken = [*words, "Combined"][int(known.iloc[0])]
    return f" The classifier that decides, chosen from {len(words)} and all combined, is: {taken}."


def _cuts(numbers):
    """Above which score it is a yes, where somebody else's score decides."""
    known = numbers.rows("delivered", "cut")
    cuts = [
        f"{value:.6g}{f' of {part}' if part else ''}"
        for part, value in zip(known["part"], known["value"], strict=True)
    ]
    if not cuts:
        return ""
    said, given = (
        f" A yes is a score above {listing(cuts)}.",
        numbers.get("delivered", "cut_given").mean,
    )
    if not math.isnan(given):
        said += f" The cut that was given, {given:.6g}, is moved so that promises are kept."
    auc = numbers.rows("delivered", "score_auc")["value"]
    if len(numbers.rows("delivered", "score_turned")):
        said += f" {turned_round(float(auc.iloc[0]))}"
    return said


def _delivered(numbers, name):
    """A number that the saved classifier is given away with; NaN where there is none."""
    return numbers.get("delivered", f"fit_{name}").mean


def _costs(numbers, main):
    """Cards of the error beside that of rules that use no columns, and a sentence if it is behind.

    The error is that of test rows, where the study measures one.
    """
    cost = _delivered(numbers, "cost")
    if math.isnan(cost):
        return [], ""
    constant, free = (
        Constant(_delivered(numbers, f"{name}_chance"), _delivered(numbers, name), keeps)
        for name, keeps in (("constant", bool(_delivered(numbers, "constant_keeps"))), ("free", 0))
    )
    what = costed(numbers, main)
    seen = "rows that judged it" if _delivered(numbers, "judges") > 0 else "the rows of its fit"
    keeps = "keeps all promises, too" if constant.keeps else "breaks promises"
    cards = []
    if (numbers.protocol.get("measures") or {}).get("error"):
        error = numbers.get(main, RULES[0], measure="error")
        style = numbers.measure(RULES[0], "error")
        cards = [blocks.Card("Error by decisions, held-out rows", *told_as(error, style))]
    if _delivered(numbers, "judges") > 0:
        title = f"{capital(what)} of the delivered decisions"
        cards.append(blocks.Card(title, percent(cost), note=f"On the {seen}"))
    cards += [
        blocks.Card(f"{capital(what)} of {rule.words}", percent(rule.cost), note=note)
        for rule, note in (
            (constant, capital(f"uses no columns, {keeps}")),
            (free, "Uses no columns, whatever it breaks"),
        )
        if rule is constant or rule.chance != constant.chance
    ]
    if not _delivered(numbers, "behind"):
        return cards, ""
    return cards, (
        f"{capital(inline(numbers, main))} is no better than a rule that uses no columns: on "
        f"{seen} its {what} is {percent(cost)}, and {constant.words}, which {keeps}, has "
        f"{percent(constant.cost)}. "
    )


def _certified(numbers, texts):
    """What is certified for new rows of the saved model, and sentences on how or why not.

    Both empty where no confidence was requested, the first where it could not be certified.
    """
    level, certified = _delivered(numbers, "confidence"), _delivered(numbers, "certified")
    if math.isnan(level):
        return "", []
    at, held = f"at {percent(level, 0)}", _delivered(numbers, "held_out") > 0
    if certified:
        what = "its promise" if len(texts) == 1 else f"all {len(texts)} promises"
        how = (
            "That is shown by cross-fitting, by rows judged by fits that did not see them: a level "
            "for many rows."
        )
        how = "That is shown by held-out rows, which had no say in the fit." if held else how
        name = capital(inline(numbers, main_of(numbers)))
        return f"{name} is certified {at} to keep {what} for new rows like these", [how]
    lead = f"The delivered model is not certified {at}: "
    if not _delivered(numbers, "stable"):
        return "", [
            f"{lead}fits to parts of the rows are unlike the one to all, so that nothing speaks "
            "for it. Add held_out: 0.3, which tests the very fit that is given away, or loosen the "
            "promises."
        ]
    share, rows = _delivered(numbers, "shown"), _delivered(numbers, "judges")
    judges = f"{number(rows, 0)} {'held-out' if held else 'cross-fitted'} rows"
    needed, by = _delivered(numbers, "needed"), _delivered(numbers, "needed_by")
    # Both are rows of the table: those that judge may be a part of it.
    held_up = []
    if not math.isnan(by):
        text, table = texts[int(by)], numbers.rows("delivered", "fit_judges")["rows"].iloc[0]
        missed = _unkept(numbers, main_of(numbers)).get(text) if math.isnan(needed) else None
        short = missed and f"on the rows of the fit it is missed by {number(missed, 3)}"
        held_up = _held_up(numbers, text, needed / table, short, "the certificate")
    if math.isnan(share):
        return "", [
            f"{lead}{judges} do not show that new rows keep all promises, nor looser ones.",
            *held_up,
        ]
    parameters = numbers.method(main_of(numbers))["options"] or {}
    known = {name: parameters.get(name) for name in PARAMETERS}
    plains = plain_constraints(texts)
    words = [loosened_text(plain, share, known) for plain in plains]
    looser = listing(words) if len(words) <= NAMED else f"{words[0]}, and the others likewise"
    more = (
        "" if math.isnan(needed) else f" As asked it would take some {rounded(needed)} rows in all."
    )
    looser = f"looser by {percent(share, 0)}: {looser}.{more}"
    return "", [f"{lead}{judges} show promises that are {looser}", *held_up]


def _held_up(numbers, text, times, missed=None, what="this"):
    """Which group holds a promise up, with its rows and how many would do: `times` as many.

    NaN: none would. `missed` is what is said in place of it where the promise is not kept at all.
    The group is that of its rates with the fewest rows; no sentence where none was counted.
    """
    (plain,) = plain_constraints(text)
    known = numbers.rows("delivered", "rate_rows").set_index("part")["value"]
    sides = (rate for side in (plain.left, plain.right) for rate in nodes(side, Rate))
    rates = {rate: known[str(rate)] for rate in sides if str(rate) in known}
    if not rates:
        return []
    rate = min(rates, key=rates.get)
    rows = rates[rate]
    told = f"{rate} is a rate of {count(int(rows), 'row')}"
    if missed:
        todo = missed
    elif math.isnan(times) or times > MOST:
        todo = "it is kept with so little room that no number of them would show it"
    else:
        todo = f"it would take some {rounded(rows * max(times, 1.0))} of them"
    return [f"What holds {what} up is {set_text(rate.sets)}: {told}, and {todo}."]


def _undecided(numbers, main, said):
    """The same of the undecided promise that test rows say least of: one that is missed, if any.

    Of two repeats there is no interval, which says nothing of what is kept.
    """
    over = {j: broken_by(numbers, main, j) for j, word in enumerate(said) if word == "undecided"}
    texts = texts_of(numbers, main)
    missed = {j: one.mean for j, one in over.items() if ON_TRAIN.judge(one) == "broken"}
    times = {
        j: ((one.high - one.mean) / one.mean) ** 2 if one.mean < 0 else math.inf
        for j, one in over.items()
        if one.bounded
    }
    if numbers.plan["source"] != "own" or not (missed or times):
        return []
    if missed:
        j = max(missed, key=missed.get)
        unkept = _unkept(numbers, main).get(texts[j])
        if unkept:
            short = f"on the rows of the fit it is missed by {number(unkept, 3)}"
            return _held_up(numbers, texts[j], math.nan, short)
        short = f"by those that were held out it is missed by {number(missed[j], 3)}: "
        short += "more of them would tell whether it is kept"
        return _held_up(numbers, texts[j], math.nan, short)
    j = max(times, key=times.get)
    return _held_up(numbers, texts[j], times[j])


def _lines(swept):
    def lines(numbers):
        main = main_of(numbers)
        for source in sorted(numbers.sources, key=lambda name: name != main):
            texts = texts_of(numbers, source)
            for setting in settings_of(numbers, source) if texts else ():
                group = numbers.label(source, setting)
                for j, text in enumerate(texts) if bool(setting) == swept else ():
                    for rule in BY:
                        place = {"setting": setting, "part": str(j), "rule": rule}
                        yield Line(source, f"{text}, {BY[rule]}", place, group)
                        group = ""

    return lines


def _columns(target, where, bound):
    for what in ("left", "right"):
        label, value = f"{what.capitalize()} side, {where}", _value(what, target)
        yield Column(label=label, value=value, measure=_SIDE, show="mean")
    style = {"value": _value("excess", target), "measure": _EXCESS, "bound": bound}
    yield Column(label=f"Broken by, {where}", **style)


def _delivered_columns(numbers):
    """What came of the promises of the model that is delivered, where it is known."""
    if not numbers.get("delivered", "promise_left_deterministic", part="0").known:
        return
    for what, label in (("left", "Left side"), ("right", "Right side"), ("excess", "Broken by")):

        def value(numbers, line, what=what):
            if line.source != main_of(numbers):
                return Estimate()
            return numbers.get(
                "delivered", f"promise_{what}_{line.place['rule']}", part=line.place["part"]
            )

        style = {"measure": _EXCESS, "bound": ON_TRAIN} if what == "excess" else {"measure": _SIDE}
        yield Column(label=f"{label}, delivered", value=value, show="mean", **style)


def _promises(caption, swept):
    def columns(numbers):
        yield from _columns(TEST, "held out", ON_TEST)
        yield from _columns(TRAIN, "fit", ON_TRAIN)
        yield from () if swept else _delivered_columns(numbers)

    note = (
        "Held out and fit: means over the splits of the study, each with a fit of its own. "
        "Delivered, where it is told: the model that is given away, on all rows, which it is fitted "
        "to; its decisions are those of scores.csv. "
        f"Broken by less than 0 ({ROUNDING:g} for rounding) is kept. By decisions: yes or no as "
        "given. By chances: as a rule would have it that tosses a coin near the boundary."
    )
    return Sheet(caption, _lines(swept), columns, "Promise", note, fold=swept, best=False)


PROMISES = _promises("Each promise", False)
SWEPT = _promises("Each promise, by setting", True)
