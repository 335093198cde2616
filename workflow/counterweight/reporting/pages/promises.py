"""Promises of classifiers, one by one: what came of each, on the rows of the fit and others."""

from dataclasses import dataclass

from counterweight.numerics.rates.promises import ROUNDING, plain_promises, promises_asked, verdict
from counterweight.reporting.asked import main_of, settings_of
from counterweight.reporting.measures import Measure
from counterweight.reporting.page import blocks
from counterweight.reporting.sheets import Column, Line, Sheet
from counterweight.reporting.wording import count, listing, percent, setting_label

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
        low, high = (estimate.mean, estimate.mean) if self.fact else estimate.ends
        return verdict(estimate.mean, low, high, self.fact)


ON_TRAIN = Verdict("On the rows of the fit: kept if broken by no more than rounding.", True)
ON_TEST = Verdict(
    "On rows held out: kept or broken if the whole 95 % interval says so, else undecided."
)


def inline(numbers, source):
    """A method's name inside a sentence."""
    label = numbers.label(source)
    return f"t{label[1:]}" if label.startswith("The ") else label


def texts_of(numbers, source):
    """The plain promises that a method is held to, as texts; empty where none were measured."""
    methods = {one["id"]: one for one in numbers.methods()}
    asked = promises_asked({"methods": methods, "main": numbers.plan.get("main")}, source)
    texts = [plain.text for plain in plain_promises(asked["texts"])] if asked else []
    found = [_excess(numbers, source, one, 0).known for one in settings_of(numbers, source)]
    return texts if any(found) else []


def _excess(numbers, source, setting, j, rule="deterministic", target=TEST):
    place = {"part": str(j), "setting": setting}
    return numbers.get(source, f"promise_excess_{rule}", target, **place)


def promise_answer(numbers, main):
    """The sentence on promises and its cards; None of methods with a sweep or without promises."""
    texts = texts_of(numbers, main)
    if not texts or settings_of(numbers, main) != [""]:
        return None
    cards, told = [], {}
    for target, bound, where in ((TRAIN, ON_TRAIN, "rows of the fit"), (TEST, ON_TEST, "new rows")):
        for rule, by in BY.items():
            judged = {
                text: bound.judge(_excess(numbers, main, "", j, rule, target))
                for j, text in enumerate(texts)
            }
            told[target, rule] = judged
            kept = sum(one == "kept" for one in judged.values())
            counts = {word: [*judged.values()].count(word) for word in ("broken", "undecided")}
            note = ", ".join(f"{many} {word}" for word, many in counts.items() if many)
            label = f"Promises kept {by}, {where}"
            cards.append(blocks.Card(label, f"{kept} of {len(texts)}", note=note))
    label, new = numbers.label(main), told[TEST, "deterministic"]
    kept = [text for text in texts if new[text] == "kept"]
    fit = sum(one == "kept" for one in told[TRAIN, "deterministic"].values())
    several = count(len(texts), "promise")
    sentence = f"By its decisions {label[0].lower() if label.startswith('The ') else label[0]}"
    sentence += f"{label[1:]} keeps {fit} of {several} on the rows of the fit"
    others = _others(new)
    sentence += f"; on rows that were held out {len(kept)} of {len(texts)} are shown kept"
    return f"{sentence}{f' ({others})' if others else ''}.{_certified(numbers)}", tuple(cards)


def _certified(numbers):
    """What is known for new rows of the model that is given away, where a confidence was asked."""
    level = numbers.get("delivered", "fit_confidence")
    certified = numbers.get("delivered", "fit_certified")
    if not level.known:
        return ""
    at = f"at {percent(level.mean, 0)}"
    if not certified.known:
        return (
            f" Its margins for new rows ({at}) come from cross-fitting, and nothing certifies it."
        )
    if certified.mean:
        return (
            f" What is given away is certified {at}: held-out rows, which had no say in the fit, "
            "show that new rows like them keep all promises."
        )
    return (
        f" What is given away is not certified {at}: held-out rows do not show that new rows keep "
        "all promises."
    )


def _others(judged):
    parts = []
    for word in ("broken", "undecided"):
        named = [text for text, said in judged.items() if said == word]
        parts += [f"{word}: {listing(named)}"] if named else []
    return "; ".join(parts)


def _lines(swept):
    def lines(numbers):
        main = main_of(numbers)
        sources = [main, *(one["id"] for one in numbers.methods() if one["id"] != main)]
        for source in filter(None, sources):
            texts = texts_of(numbers, source)
            for setting in settings_of(numbers, source) if texts else ():
                if bool(setting) != swept:
                    continue
                name = ", ".join(filter(None, [numbers.label(source), setting_label(setting)]))
                for rank, (j, rule) in enumerate((j, r) for j in range(len(texts)) for r in BY):
                    place = {"setting": setting, "part": str(j), "rule": rule}
                    group = "" if rank else name
                    yield Line(source, f"{texts[j]}, {BY[rule]}", place, group)

    return lines


def _value(what, target):
    def value(numbers, line):
        place = dict(line.place)
        rule = place.pop("rule")
        return numbers.get(line.source, f"promise_{what}_{rule}", target, **place)

    return value


def _columns(target, where, bound):
    for what, label in (("left", "Left side"), ("right", "Right side")):
        yield Column(
            label=f"{label}, {where}", value=_value(what, target), measure=_SIDE, show="mean"
        )
    yield Column(
        label=f"Broken by, {where}", value=_value("excess", target), measure=_EXCESS, bound=bound
    )


COLUMNS = (*_columns(TEST, "held out", ON_TEST), *_columns(TRAIN, "fit", ON_TRAIN))
NOTE = (
    f"Broken by less than 0 ({ROUNDING:g} for rounding) is kept. By decisions: yes or no as given. "
    "By chances: as a rule would have it that tosses a coin near the boundary."
)
PROMISES = Sheet(
    "Each promise", _lines(False), COLUMNS, first="Promise", note=NOTE, fold=False, best=False
)
SWEPT = Sheet(
    "Each promise, by setting",
    _lines(True),
    COLUMNS,
    first="Promise",
    note=NOTE,
    fold=True,
    best=False,
)
