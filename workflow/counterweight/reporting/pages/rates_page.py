"""Pages of studies of constraints on rates: is what was requested kept, and at what cost?"""

import functools
import math
from dataclasses import replace

from counterweight.evaluation.rates import AT_EQUAL, CASES, RULES, equal_setting
from counterweight.numerics.rates.values import Constant
from counterweight.reporting import blocks
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.pages.promises_page import (
    PROMISES,
    SWEPT,
    TEXTS,
    asking,
    binds,
    costed,
    excess,
    inline,
    is_share,
    limits_of,
    main_of,
    next_steps,
    promise_answer,
    requested_measures,
    rule_of,
    settings_of,
    texts_of,
    worst_promise,
)
from counterweight.reporting.pages.trust import REHEARSAL
from counterweight.reporting.sheets import (
    Bound,
    Column,
    Line,
    Sheet,
    cards_and_points,
    each_place,
    gap_in_words,
    in_words,
    lines_of,
    told,
)
from counterweight.reporting.study_page import Answer, StudyPage, plain_answer
from counterweight.reporting.wording import (
    Measure,
    capital,
    count,
    joined_words,
    listing,
    number,
    option_name,
    percent,
    setting_label,
)
from counterweight.tables.parquet import column_names, read_table

SIGN, COIN = RULES
#: Standard errors from which a difference is beyond chance, at 95 %.
CHANCE = 1.96
#: What the solver's rounding may break a limit by on training rows: of it, or in shares.
TRAINING = 0.001
#: Settings from which on a sweep counts as a curve.
_A_CURVE = 3
_PLAIN = Measure("", digits=0)
_OVER = Measure("excess", digits=3)
_EXCESS = {
    True: Measure("excess", "share", digits=2, percent=True),
    False: Measure("excess", "relative", digits=1),
}


def _measures(numbers):
    return numbers.protocol.get("measures") or {}


def _at(setting):
    return f" at {setting_label(setting)}" if setting else ""


def _cost(numbers):
    """The measure that constraints cost: of the comparison, or the first without a constraint."""
    others = (name for name in _measures(numbers) if name not in requested_measures(numbers))
    return (numbers.protocol.get("equal") or {}).get("of") or next(others, None)


def _worst(numbers, source, setting, rule, target="general", measure=None):
    """By how much the limit of a setting is broken that is broken most, as an `Estimate`."""
    known = [
        excess(numbers, source, setting, limit, rule, target)
        for limit in limits_of(numbers, source, setting)
        if measure in (None, limit.measure)
    ]
    return max((one for one in known if one.known), key=lambda one: one.mean, default=Estimate())


# The answer.


def answer(numbers):
    """What the main method makes of each promise; what it keeps and costs, how others compare."""
    main, found = main_of(numbers), _whole_answer(numbers)
    first = main and promise_answer(numbers, main)
    if not first:
        return found
    sentence, more, cards = first
    own, weak = numbers.plan["source"] == "own", ""
    if own:
        weak, said_yes = _who_gets_a_yes(numbers, main)
        said = [weak or _behind_in_splits(numbers, main), sentence]
        sentence, cards = joined_words(said, " "), [*said_yes, *cards]
    if found is None:
        return Answer(sentence, more, cards)
    rest = (found.sentence, *found.more)
    if own:
        text, over = worst_promise(numbers, main)
        room = (
            f"{text} has the least room: on average test rows break it by "
            f"{gap_in_words(over, _OVER)}; below 0 it is kept."
        )
        rest = (room, *found.more)
        todo = tuple(next_steps(numbers, main))
        if weak:
            todo = ("Do not decide by it: ask for less, or add columns that tell more.", *todo[1:])
        return Answer(sentence, more, cards, found.points, rest, todo)
    cards = (*cards, *found.cards)
    return replace(found, sentence=sentence, more=(*more, *rest), cards=cards)


def _who_gets_a_yes(numbers, main):
    """A sentence and a card: how many get a yes, and where such decisions are not shown to err less
    than one answer for all that keeps the promises, too; "" else. A row counts as many as it
    stands for.

    By chance as many of the rows that are decided otherwise would be right as wrong (McNemar 1947,
    with the correction for whole numbers).
    """
    path = numbers.folder / "scores.parquet"
    if not path.exists() or "decision" not in column_names(path):
        return "", ()
    decided = read_table(path, ["decision"])["decision"].astype(bool)
    yes, size = int(decided.sum()), len(decided)
    told = f"{number(yes, 0)} of {count(size, 'row')}"
    share = numbers.get("delivered", "fit_yes").mean
    told += ", each counted as the rows that it stands for" * (
        percent(share) != percent(yes / size)
    )
    cards = [blocks.Card("A yes by the delivered decisions", percent(share), note=told)]
    blank = numbers.rows("delivered", "fit_yes")
    for row in blank[blank["part"] != ""].itertuples():
        note = f"No promise about a group is one for them. {percent(row.value)} get a yes."
        cards.append(blocks.Card(capital(row.part), count(row.rows, "row"), note=note))
    cost, other, chance, keeps, judges, behind = _beside_constant(numbers)
    rows = judges if judges > 0 else size
    otherwise = rows * abs(share - chance)
    shown = rows * (other - cost) - 1 > CHANCE * math.sqrt(otherwise)
    if behind or shown or not (keeps and chance in (0, 1)) or costed(numbers, main) != "error":
        return "", cards
    rule, seen = (
        Constant(chance, other, True).words,
        "that judged it" if judges > 0 else "of its fit",
    )
    return (
        f"{capital(inline(numbers, main))} says yes to {told}, and is not shown to err less than "
        f"{rule}, which keeps all promises, too: {percent(cost)} of the rows {seen} against "
        f"{percent(other)}."
    ), cards


def _behind_in_splits(numbers, main):
    """A sentence where held-out rows show no less error than a rule without columns; "" else.

    They judge fits to parts of the rows, and not the one that is given away.
    """
    cost, other, chance, keeps, judges, behind = _beside_constant(numbers)
    error = numbers.get(main, RULES[0], measure="error").mean
    if judges > 0 or behind or costed(numbers, main) != "error" or not (keeps and error >= other):
        return ""
    return (
        f"Held-out rows do not show that {inline(numbers, main)} is better than "
        f"{Constant(chance, other, True).words}, which keeps all promises, too: fits to parts of "
        f"the table err in {percent(error)} of them, and that in {percent(other)} of all rows. "
        f"The delivered decisions, of a fit to all, err in {percent(cost)} of its own rows."
    )


def _beside_constant(numbers):
    """What is known of the delivered decisions beside the best rule that uses no columns."""
    names = ("cost", "constant", "constant_chance", "constant_keeps", "judges", "behind")
    return [numbers.get("delivered", f"fit_{name}").mean for name in names]


def _whole_answer(numbers):
    """What is requested of the main method, kept on training and test rows, and what it costs."""
    main = main_of(numbers)
    settings = asking(numbers, main) if main else []
    bind = [name for name in settings if binds(numbers, main, name)] or settings
    limited = [one.measure for setting in bind for one in limits_of(numbers, main, setting)]
    limited = list(dict.fromkeys(limited))
    test = {
        (name, setting): _worst(numbers, main, setting, SIGN, measure=name)
        for setting in bind
        for name in limited
    }
    test = {place: known for place, known in test.items() if known.known}
    if not test:
        return plain_answer(numbers)
    name, worst = max(test, key=lambda one: test[one].mean)
    most, style = test[name, worst], _EXCESS[is_share(numbers, name)]
    where = joined_words([numbers.named(name) if limited[1:] else "", _at(worst).strip()])
    missed = blocks.Card(
        "Most that a limit is missed by, test rows", *told(most, style, sign=True), where
    )
    names, label = listing(map(numbers.named, limited)), inline(numbers, main)
    lead, cards = f"{numbers.label(main)} is requested to keep {names}", [missed]
    train = [_worst(numbers, main, one, rule_of(numbers, main), "train") for one in bind]
    if any(one.known for one in train):
        kept = sum(one.mean <= TRAINING for one in train)
        own = f"{kept} of {count(len(bind), 'setting')}"
        cards = [blocks.Card("Kept on training rows", own, note="that bind"), missed]
        lead = f"With {label}, training rows {_in(kept, bind).format(names)}"
    beyond = len({setting for (_, setting), one in test.items() if one.low > 0})
    size = gap_in_words(most, style) + (f" ({where})" if where else "")
    promise = worst_promise(numbers, main)
    if promise:  # a promise is kept or not by its two sides, and not by their ratio
        where, most = promise
        beyond, style = int(most.low > 0), _OVER
        size = f"{gap_in_words(most, style)} ({where})"
    unsure = not any(one.bounded for one in (most, *test.values()))
    breaks = "have no interval to say whether they break it" if unsure else _breaks(beyond, bind)
    mean = f"miss it by at most {size}" if most.mean > 0 else f"keep it, the nearest by {size}"
    # Of the baseline and of the outer settings: cards, points of a chart.
    ends = [(numbers.baseline, "")] if numbers.baseline not in (None, main) else []
    ends += dict.fromkeys([(main, bind[0]), (main, bind[-1])])
    first, shown = limited[0], []
    for source, setting in ends:
        known = numbers.get(source, SIGN, measure=first, setting=setting)
        note = capital(numbers.named(first))
        shown.append((numbers.label(source, setting), known, note, source == main))
    made, points = cards_and_points(shown, numbers.measure(SIGN, first))
    return Answer(
        f"{lead}; test rows {breaks}, and on average they {mean}.",
        (*_against_baseline(numbers, main, settings, first), *_at_equal_values(numbers, main)),
        [*cards, *made],
        points,
    )


def _breaks(some, settings):
    if not some:
        return "do not break it significantly"
    return f"break it significantly{f' in {some} of them' if len(settings) > 1 else ''}"


def _in(some, settings):
    if len(settings) == 1:
        return f"{'' if some else 'do not '}keep what is requested ({{}})"
    words = {0: "none of", len(settings): "all of"}.get(some, f"{some} of")
    return f"keep what is requested ({{}}) in {words} the {len(settings)} settings that bind"


def _against_baseline(numbers, main, settings, limited):
    """How much more or less the main method has than the baseline, of the limited and in cost."""
    baseline = numbers.baseline
    for name in filter(None, [limited, _cost(numbers)] if baseline not in (None, main) else []):
        base, style = numbers.get(baseline, SIGN, measure=name), numbers.measure(SIGN, name)
        gaps = {
            one: numbers.against(baseline, main, SIGN, measure=name, setting=one)
            for one in settings
        }
        gaps = {setting: gap for setting, gap in gaps.items() if gap.known}
        if gaps:
            ends = dict.fromkeys(end(gaps, key=lambda one: gaps[one].mean) for end in (min, max))
            sizes = " to ".join(gap_in_words(gaps[one], style) + _at(one) for one in ends)
            known = [gap for gap in gaps.values() if gap.bounded]
            less, more = sum(gap.high < 0 for gap in known), sum(gap.low > 0 for gap in known)
            beyond = _significant(less, more, len(gaps))
            yield (
                f"{capital(numbers.named(name))}: {in_words(base, style)} with "
                f"{inline(numbers, baseline)}. {numbers.label(main)} differs by {sizes}"
                f"{beyond if known else ''}."
            )


def _significant(less, more, settings):
    """How many differences of some settings are significant, in words."""
    said = [f"significantly {way} in {many}" for many, way in ((less, "lower"), (more, "higher"))]
    said = [text for text, many in zip(said, (less, more), strict=True) if many]
    if settings == 1:
        return f", {said[0].removesuffix(' in 1')}" if said else ", which is not significant"
    if not said:
        return f", significant in none of {settings} settings"
    return f", {' and '.join(said)} of {settings} settings"


# At equal values.


def _at_equal(numbers, source, value, rule, main=None):
    """The second measure where the first has a value; with `main` as a difference from it.

    Unknown where fewer than half of the repeats reach the value.
    """
    equal = numbers.protocol["equal"]
    place = {"measure": equal["of"], "setting": equal_setting(equal, value)}
    known = numbers.get(source, AT_EQUAL[rule], **place)
    settings = settings_of(numbers, source)
    repeats = [numbers.get(source, SIGN, measure=equal["of"], setting=one).n for one in settings]
    if not known.known or known.n < max(repeats, default=0) / 2 or main == source:
        return Estimate()
    other = main and numbers.values(main, AT_EQUAL[rule], **place)
    own = numbers.values(source, AT_EQUAL[rule], **place)
    return known if main is None else numbers.difference(own, other)


def _at_equal_values(numbers, main):
    """How others do where they keep as much as the main method, in one sentence."""
    equal, groups = numbers.protocol.get("equal"), {}
    for one in numbers.methods() if equal else ():
        if one["id"] == main or len(settings_of(numbers, one["id"])) < _A_CURVE:
            continue
        gaps = {v: _at_equal(numbers, one["id"], v, SIGN, main) for v in equal["values"]}
        gaps = {value: gap for value, gap in gaps.items() if gap.bounded}
        if gaps:
            most = max(gaps, key=lambda value: abs(gaps[value].mean))
            size = gap_in_words(gaps[most], numbers.measure(SIGN, equal["of"]))
            side = any(g.low > 0 for g in gaps.values()), any(g.high < 0 for g in gaps.values())
            groups.setdefault(side, []).append(f"{numbers.label(one['id'])} ({size} at {most:g})")
    words = {
        (True, False): "significantly higher with",
        (False, True): "significantly lower with",
        (True, True): "higher at some values and lower at others with",
        (False, False): "not significantly different with",
    }
    parts = [f"{words[side]} {listing(groups[side])}" for side in words if side in groups]
    if parts:
        yield (
            f"{capital(numbers.named(equal['of']))} beside {inline(numbers, main)} where both "
            f"have the same {numbers.named(equal['measure'])} on test rows: {'; '.join(parts)}."
        )


def _equal_sheet(caption, difference, **changes):
    def lines(numbers):
        for source in numbers.sources if numbers.protocol.get("equal") else ():
            for rule in RULES:
                yield Line(source, f"{numbers.label(source)}, {rule}", {"part": rule})

    def columns(numbers):
        equal = numbers.protocol.get("equal") or {}
        main = main_of(numbers) if difference else None
        for at in equal.get("values", ()):

            def value(numbers, line, at=at):
                return _at_equal(numbers, line.source, at, line.place["part"], main)

            style = {"measure": numbers.measure(SIGN, equal["of"])}
            show = "difference" if difference else "interval"
            yield Column(label=f"at {at:g}", value=value, show=show, **style)

    def title(numbers):
        names = {key: numbers.named(numbers.protocol["equal"][key]) for key in ("of", "measure")}
        return capital(caption.format(main=numbers.label(main_of(numbers)), **names))

    return Sheet(title, lines, columns, **changes)


# What was asked and what came about.


def _lines(numbers, main=None):
    """A line for each setting; with `main` of the main method and the baseline, or of others."""
    shown = {main_of(numbers), numbers.baseline}
    for one in sorted(numbers.methods(), key=lambda one: bool(one["sweep"])):
        if main is None or main == (one["id"] in shown):
            yield from lines_of(numbers, one["id"], settings_of(numbers, one["id"]) or [""])


def _place(line):
    return line.source, line.place.get("setting", "")


def _mean(label, value, measure, **more):
    return Column(label=label, value=value, measure=measure, show="mean", **more)


def _limit(measure, least):
    def value(numbers, line):
        for limit in limits_of(numbers, *_place(line)):
            if (limit.measure, limit.least) == (measure, least):
                deployed = numbers.get(line.source, "deployed", measure=measure).mean
                return Estimate(limit.value * (deployed if limit.deployed else 1))
        return Estimate()

    return value


def _broken(measure, target):
    def value(numbers, line):
        rule = rule_of(numbers, line.source) if target == "train" else SIGN
        known = _worst(numbers, *_place(line), rule, target, measure)
        # No chance is in what a fit keeps on its own rows.
        return Estimate(known.mean) if target == "train" else known

    return value


def _test(numbers, name):
    return Column(SIGN, f"{capital(numbers.named(name))}, test", place={"measure": name})


def _held(numbers):
    """For each measure with a limit: its limits, its test value, by how much it breaks them."""
    limited = requested_measures(numbers)
    for name in limited:
        points, words = is_share(numbers, name), capital(numbers.named(name))
        before, style = f"{words}: " if len(limited) > 1 else "", numbers.measure(SIGN, name)
        for least, end in ((False, "at most"), (True, "at least")):
            yield _mean(capital(f"{before}requested, {end}"), _limit(name, least), style)
        yield _test(numbers, name)
        train = f"pass if at most 0.1 {'points' if points else '% of it'} beyond what was requested"
        for target, where, bound, says in (
            ("train", "training", TRAINING, f"{train}, by the rule that a method constrains"),
            ("general", "test", 0.0, "pass or fail with the whole interval, else open"),
        ):
            yield Column(
                label=capital(f"{before}limit broken by, {where}"),
                value=_broken(name, target),
                measure=_EXCESS[points],
                show="difference",
                bound=Bound(bound, f"{words}, {where} rows: {says}."),
            )
    yield from (_test(numbers, name) for name in _measures(numbers) if name not in limited)
    yield Column("labels_needed", "Labels that show it is better", measure=_PLAIN)


def _both_rules(numbers):
    for name in filter(None, dict.fromkeys([*requested_measures(numbers), _cost(numbers)])):
        for rule in RULES:
            for target, where in (("train", "training"), ("general", "test")):
                label = f"{capital(numbers.named(name))}, {rule}, {where}"
                yield Column(rule, label, target, place={"measure": name})
    for name in _measures(numbers):
        yield Column(
            label=f"Gap of {numbers.named(name)}",
            value=lambda n, line, at=name: n.get(line.source, "gap", measure=at, **line.place),
            measure=numbers.measure(SIGN, name),
            show="difference",
        )


# Methods of the main one's model and constraints that differ in other options.


def _variants(numbers):
    main = main_of(numbers)
    mine = numbers.method(main) if main else {"model": None, "options": {}}
    for one in numbers.methods():
        options = one["options"] or {}
        apart = {name for name in options if options[name] != mine["options"].get(name)}
        apart -= {*(one["sweep"] or ())}
        same = one["model"] == mine["model"] and any(mine["options"].get(text) for text in TEXTS)
        if one["id"] != main and same and not apart & {*TEXTS}:
            told = options | one.get("values", {})
            words = ", ".join(f"{option_name(name)}: {told[name]}" for name in sorted(apart))
            yield Line(one["id"], numbers.label(one["id"]) + (f" ({words})" if words else ""))


def _common(numbers, line):
    """Settings that a variant and the main method have and that bind."""
    main, own = main_of(numbers), settings_of(numbers, line.source)
    return [one for one in own if one in settings_of(numbers, main) and binds(numbers, main, one)]


def _off(numbers, line, source=None):
    source = source or line.source
    known = [_worst(numbers, source, one, SIGN).mean for one in _common(numbers, line)]
    return Estimate(sum(map(abs, known)) / len(known)) if known else Estimate()


def _costs_more(numbers, line):
    """Paired difference from the main method's cost, mean over the common settings."""
    settings, place = _common(numbers, line), {"measure": _cost(numbers)}
    means = [
        sum(numbers.values(source, SIGN, setting=one, **place) for one in settings)
        for source in (line.source, main_of(numbers))
    ]
    return numbers.difference(*means).times(1 / len(settings)) if settings else Estimate()


def _beside(numbers):
    limited, cost, main = requested_measures(numbers), _cost(numbers), main_of(numbers)
    if limited and cost:
        label, style = numbers.label(main), _EXCESS[is_share(numbers, limited[0])]
        yield _mean("Settings", lambda n, line: Estimate(len(_common(n, line)) or math.nan), _PLAIN)
        yield _mean("Off what was requested", _off, style)
        yield _mean(f"Off it, {label}", functools.partial(_off, source=main), style)
        words, style = f"{capital(numbers.named(cost))} minus that of", numbers.measure(SIGN, cost)
        yield Column(label=f"{words} {label}", value=_costs_more, measure=style, show="difference")


# What the optimiser did.


@functools.lru_cache(256)
def _last_steps(numbers, source, metric):
    """Of a metric by step: mean over repeats of the last step, and of the value there."""
    rows = numbers.rows(source, metric).sort_values("step", kind="stable")
    last = rows.groupby(["setting", "part", "repeat"])[["step", "value"]].last()
    return last.groupby(["setting", "part"]).mean().to_dict("index")


def _last(metric, what, part=""):
    def value(numbers, line):
        known = _last_steps(numbers, line.source, metric).get((_place(line)[1], part), {})
        return Estimate(float(known.get(what, math.nan)))

    return value


def _fit(numbers):
    parts = sorted(numbers.metrics.loc[numbers.metrics["metric"] == "multiplier", "part"].unique())
    steps = Measure("steps", digits=1)
    yield _mean("Convex steps", _last("objective", "step"), steps)
    for step, label in ((0, "Objective at the start"), (1, "After step 1")):
        yield Column("objective", label, place={"step": step}, show="mean")
    yield Column("final_objective", "At the end", show="mean")
    for metric, label, says in (
        ("steps_rising", "Steps that rose", "none may raise the objective"),
        ("steps_violated", "Steps that left", "none may leave constraints that the start kept"),
    ):
        yield Column(metric, label, show="mean", bound=Bound(0.0, f"{label}: {says}."))
    for part in parts:
        label = f"Multiplier {int(part or 0) + 1}" if len(parts) > 1 else "Multiplier"
        yield Column("multiplier", label, value=_last("multiplier", "value", part), show="mean")
    yield _mean(
        "Certified gap, millionths",
        lambda n, line: n.get(line.source, "final_gap", **line.place).times(1e6),
        steps,
        term="Proved distance from the optimum of the last convex step.",
    )
    yield Column("evaluations_per_step", "Evaluations a step", show="mean")
    share = Measure("feasible fits", "share", digits=0, percent=True)
    yield Column("feasible", "Feasible fits", measure=share, show="mean")


# What was chosen from.


def _candidates(numbers):
    for one in numbers.methods():
        entries = one.get("candidates") or []
        if len(entries) > 1:
            combined = numbers.get(one["id"], "candidate_cost", part=str(len(entries))).known
            for part, words in enumerate([*entries, *["Combined"] * combined]):
                group = "" if part else numbers.label(one["id"])
                yield Line(one["id"], words, {"part": str(part)}, group)


CHOSEN = Sheet(
    "What was chosen from",
    _candidates,
    tuple(Column(f"candidate_{what}", show="mean") for what in ("loss", "cost", "missed", "taken")),
    "Classifier",
    "By rows that a classifier was not fitted to, with thresholds by which the promises are kept "
    "there. Of those with a log loss the first stands, or the one of least log loss where that is "
    "less by more than a standard error of the difference. It is taken unless another one misses "
    "less of the promises, or errs less by more than chance makes among so many. One without numbers "
    "was given up after its first fits, as these were clearly behind.",
    best=False,
)

# How far to trust it.


def fits(numbers):
    """Fits that are not feasible or did what they must not; measures that are not defined."""
    rows = numbers.metrics[numbers.metrics["target"] != "train"]
    rows = rows[rows["source"].isin([one["id"] for one in numbers.methods()])]
    for metric, wrong, words in (
        ("feasible", lambda value: value == 0, "fits found no model that keeps all constraints"),
        ("collapsed", lambda value: value == 1, "fits say yes to nobody, or to everybody"),
        ("behind", lambda value: value > 1e-3, "fits are behind a known rule that keeps them, too"),
        (SIGN, lambda value: value.isna(), "test values are not defined and left out"),
        ("objective_rise", lambda value: value > 1e-9, "fits raised their objective in some step"),
        ("largest_violation", lambda value: value > 1e-6, "fits left constraints on their way"),
    ):
        own = rows[rows["metric"] == metric]
        some = own[wrong(own["value"])].groupby("source", sort=False).size()
        if len(some):
            names = listing(f"{numbers.label(name)} {amount}" for name, amount in some.items())
            yield f"{some.sum()} of {len(own)} {words}: {names}."
        elif metric == "feasible" and len(own):
            yield f"All {len(own)} fits keep their constraints on the rows that they learned from."


def sign_test(numbers):
    """Labels that it takes to show which of two models is better, in the cases of the paper."""
    main, place = main_of(numbers), {"setting": "power=0.8"}
    needed = [
        f"{number(known.mean, 0)} if it wins {number(100 * wins, 0)} % of the "
        f"{number(100 * apart, 0)} % of rows on which they disagree"
        for case, (apart, wins) in CASES.items()
        if (known := numbers.get(main, "sign_test_labels", part=case, **place)).known
    ]
    if needed:
        yield (
            "Labels that a sign test (two-sided, 5 %, power 80 %) needs to show that a classifier "
            f"of 75 % accuracy beats one of 70 %: {listing(needed)}."
        )


DATA = Sheet(
    "The data sets",
    each_place("part", "sample_rows", "", "labels"),
    tuple(
        Column(f"sample_{what}", capital(what), "", measure=_PLAIN, show="mean")
        for what in ("rows", "positives")
    ),
    first="Data set",
)
HELD = "What was requested and what came about"
NOTE = f"Test values are {SIGN}. A limit broken by less than 0 is kept."
VARIANTS = "Test rows, means over the settings that both have and that bind."
SHEETS = (
    PROMISES,
    CHOSEN,
    Sheet(HELD, functools.partial(_lines, main=True), _held, note=NOTE, fold=False),
    _equal_sheet("{of} minus that of {main} at equal {measure}, test rows", True),
    Sheet("The main method with other options", _variants, _beside, note=VARIANTS),
    Sheet(f"{HELD}, other methods", functools.partial(_lines, main=False), _held, note=NOTE),
)
GAP = f"Gap: test minus training value, {COIN}."
DETAILS = (
    SWEPT,
    _equal_sheet("{of} at equal {measure}, test rows", False, fold=True),
    Sheet("Both rules, training and test rows", _lines, _both_rules, note=GAP, fold=True),
    Sheet("What the optimiser did", _lines, _fit, fold=True),
)


def question(numbers):
    """What a study asks that does not say it."""
    limited, cost = requested_measures(numbers), _cost(numbers)
    if not limited:
        return ""
    words = f"the limit on {numbers.named(limited[0])}"
    if limited[1:]:
        words = f"its {count(len(limited), 'limit')}"
    costs = f", and at what cost in {numbers.named(cost)}" if cost else ""
    if numbers.plan["source"] == "own" and (texts := texts_of(numbers, main_of(numbers))):
        words = f"its {count(len(texts), 'promise')}" if texts[1:] else f"the promise {texts[0]}"
        words, costs = f"{words} for people it has not seen", costs.removesuffix(" on labeled")
    return f"Does {inline(numbers, main_of(numbers))} keep {words}{costs}?"


PAGE = StudyPage(answer, SHEETS, (*REHEARSAL, fits, sign_test, DATA), DETAILS, question)
