"""What a study on dataset constraints found, in sentences that are computed."""

import numpy as np

from counterweight.evaluation.rates.asked import AT_EQUAL, RULES, equal_setting
from counterweight.reporting.page.wording import (
    count,
    interval,
    listing,
    number,
    percent,
    places_for,
    setting_label,
)
from counterweight.reporting.rates.tables import Rate
from counterweight.reporting.rates.words import (
    CHURN_EXCESS,
    TEST_DISTANCE,
    TRAIN_EXCESS,
    is_share,
    measure_name,
)

_ROUNDING = 1e-9
#: Settings from which on a sweep counts as a curve.
_A_CURVE = 3


def told(measure, value):
    """A value of a measure in a sentence."""
    if is_share(measure):
        return percent(value, 2)
    return number(value, places_for([value], 2, 3))


def _points(found):
    """``+0.50 points [0.10, 0.90]`` of a difference of shares."""
    mean, low, high = (100 * value for value in found[:3])
    return f"{number(mean, 2, sign=True)} points {interval(low, high)}".rstrip()


def _span(values):
    """``+0.10 to +0.20`` of shares in points; one number where both are the same."""
    ends = [number(100 * value, 2, sign=True) for value in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


def _share_grade(good, of):
    return "good" if good == of else "fair" if good >= 0.8 * of else "poor"


def held_sentences(numbers):
    """Whether what was asked is kept, what that costs, and how far each method reaches."""
    return [
        text
        for text in (
            _unconstrained(numbers),
            *_kept(numbers),
            _reach(numbers),
            *_churn(numbers),
            *_labels(numbers),
            _counted(numbers),
        )
        if text
    ]


def _unconstrained(numbers):
    source, asked = "svm", numbers.asked
    if source not in numbers.methods or not asked or not np.isnan(numbers.asks(source, "")):
        return ""
    values = {
        name: numbers.mean(source, Rate("deterministic", name))
        for name in (asked["measure"], "error")
    }
    if np.isnan(list(values.values())).any():
        return ""
    told_values = [f"{measure_name(name)} of {told(name, v)}" for name, v in values.items()]
    return f"Without a constraint ({numbers.label(source)}), test rows show a " + (
        f"{told_values[0]} and an {told_values[1]}."
    )


def _kept(numbers):
    """In how many binding settings each method keeps what was asked, training and test."""
    asked = numbers.asked
    if not asked:
        return
    measure, train, test = asked["measure"], [], []
    for source in numbers.methods:
        settings = [
            setting for setting in numbers.settings_of(source) if numbers.active(source, setting)
        ]
        seen = [
            numbers.excess(source, setting, numbers.rule(source), "train")
            * (numbers.asks(source, setting) if measure == "churn" else 1)
            for setting in settings
        ]
        limit = (CHURN_EXCESS if measure == "churn" else TRAIN_EXCESS)[0]
        train += _of_binding(numbers.label(source), seen, limit)
        seen = [numbers.excess(source, setting, "deterministic", "general") for setting in settings]
        if asked["form"] == "at_most_inverse":
            # A churn or a recall that is kept with room is no fault.
            seen = np.abs(seen)
        test += _of_binding(numbers.label(source), seen, TEST_DISTANCE[0])
    name = measure_name(measure)
    if train:
        yield (
            f"Of the settings in which the {name} asked for binds, it is kept on training rows, by "
            f"the rule that a method constrains: {'; '.join(train)}."
        )
    if test:
        limit = percent(TEST_DISTANCE[0], 0)
        kept = (
            f"is within {limit} of the {name} asked for"
            if asked["form"] == "at_most_inverse"
            else f"breaks what is asked of the {name} by no more than {limit} of it"
        )
        yield f"On test rows the deterministic rule {kept}: {'; '.join(test)}."


def _of_binding(label, values, limit):
    if not len(values) or np.isnan(values).all():
        return []
    kept = int(np.sum(np.asarray(values) <= limit))
    return [f"{label} in {kept} of {len(values)} ({_share_grade(kept, len(values))})"]


def _reach(numbers):
    """The least value of the measure that each swept method comes to."""
    if not numbers.asked or numbers.asked["form"] != "at_most_inverse":
        return ""
    metric = Rate("deterministic", numbers.asked["measure"])
    found = []
    for source, method in numbers.methods.items():
        table = numbers.table(source, metric)
        if method.get("sweep") and len(numbers.settings_of(source)) >= _A_CURVE:
            found.append((float(table.mean().min()), numbers.label(source)))
    if len(found) < 2:
        return ""
    texts = [f"{label} {number(value, 2)}" for value, label in sorted(found)]
    return (
        f"The least {measure_name(numbers.asked['measure'])} on test rows over all settings "
        f"(deterministic): {listing(texts)}."
    )


def _churn(numbers):
    """Targets of a churn against what came about, and against the baseline."""
    asked, main, baseline = numbers.asked, numbers.main(), numbers.settings.get("baseline")
    if not asked or asked["measure"] != "churn" or main is None:
        return
    settings = [
        setting
        for setting in numbers.settings_of(main)
        if not np.isnan(numbers.asks(main, setting))
    ]
    gaps = [numbers.mean(main, Rate("gap", "churn"), setting) for setting in settings]
    if settings and not np.isnan(gaps).all():
        shares = [
            numbers.mean(main, Rate("deterministic", "churn"), setting)
            / numbers.asks(main, setting)
            for setting in settings
        ]
        yield (
            f"From training to test rows the randomised churn changes by {_span(gaps)} points; "
            f"the deterministic churn on test rows is {percent(min(shares), 0)} to "
            f"{percent(max(shares), 0)} of its target."
        )
    if baseline not in numbers.methods or baseline == main:
        return
    better = {"churn": 0, "error": 0}
    compared, first = 0, ""
    for setting in settings:
        differences = {
            name: numbers.difference(
                numbers.series(main, Rate("deterministic", name), setting),
                numbers.series(baseline, Rate("deterministic", name)),
            )
            for name in better
        }
        if any(np.isnan(found[0]) for found in differences.values()):
            continue
        compared += 1
        for name, found in differences.items():
            better[name] += found[2] < 0
        if not first:
            first = (
                f"at {setting_label(setting)} churn {_points(differences['churn'])}, "
                f"error {_points(differences['error'])}"
            )
    if compared:
        yield (
            f"Against {numbers.label(baseline)}, deterministic on test rows, churn is lower beyond "
            f"the interval at {better['churn']} of {count(compared, 'target')} "
            f"({_share_grade(better['churn'], compared)}) and the error at {better['error']} "
            f"({_share_grade(better['error'], compared)}); {first}."
        )
    yield from _recall(numbers, main, settings)


def _recall(numbers, main, settings):
    differences = [
        numbers.difference(
            numbers.series(main, Rate("deterministic", "recall"), setting),
            numbers.series(main, Rate("deployed", "recall")),
        )
        for setting in settings
    ]
    means = [found[0] for found in differences if not np.isnan(found[0])]
    if means:
        kept = sum(value >= -0.025 for value in means)
        yield (
            f"The recall on test rows is {_span(means)} points from the deployed model's; it is at "
            f"most 2.5 points below at {kept} of {count(len(means), 'target')} "
            f"({_share_grade(kept, len(means))})."
        )


def _labels(numbers):
    """What the sign test says of the paper's cases and of this run."""
    main = numbers.main()
    if main is None:
        return
    cases = {
        case: numbers.case(main, "sign_test_labels", case, "power=0.8")
        for case in ("best", "worst")
    }
    if not np.isnan(list(cases.values())).any():
        yield (
            "To show that a classifier of 75 % accuracy beats one of 70 % (two-sided sign test at "
            f"5 %, power 80 %), {number(cases['best'], 0)} labels are enough if it wins "
            f"all of their disagreements (5 % of the rows), and {number(cases['worst'], 0)} are "
            "needed if it wins 30 of every 55."
        )
    needed = []
    for source in numbers.methods:
        for setting in numbers.settings_of(source):
            labels = numbers.mean(source, "labels_needed", setting)
            if not np.isnan(labels):
                needed.append((labels, numbers.label(source), setting_label(setting)))
    if needed:
        labels, label, setting = min(needed)
        yield (
            "Of the new models here, the one whose advantage over the deployed model takes the "
            f"fewest labels to show is {', '.join(filter(None, (label, setting)))}: "
            f"{number(labels, 0)} labels of rows on which the two disagree (mean over the repeats "
            "in which it wins more of them than it loses)."
        )


def _counted(numbers):
    """Fits without a value and fits that are not feasible: they must not be hidden."""
    undefined, short = {}, {}
    for source in numbers.methods:
        undefined[numbers.label(source)] = numbers.undefined(source)
        table = numbers.table(source, "feasible")
        short[numbers.label(source)] = 0 if table.empty else int((table == 0).sum().sum())
    return " ".join(
        f"{count(sum(found.values()), *words)}: "
        f"{listing(f'{label} {amount}' for label, amount in found.items() if amount)}."
        for found, words in (
            (
                undefined,
                (
                    "value is not defined (nobody in a data set gets the positive answer) and "
                    "left out",
                    "values are not defined (nobody in a data set gets the positive answer) "
                    "and left out",
                ),
            ),
            (
                short,
                (
                    "fit found no model that keeps all constraints",
                    "fits found no model that keeps all constraints",
                ),
            ),
        )
        if any(found.values())
    )


def equal_sentences(numbers):
    """Where other methods err less or more than the main one at equal observed values."""
    equal = (numbers.settings["protocol"]["options"] or {}).get("equal")
    main = numbers.main()
    if not equal or main is None:
        return []
    name = measure_name(equal["measure"])
    deterministic, randomised = (Rate(AT_EQUAL[rule], equal["of"]) for rule in RULES)
    texts = []
    for source in numbers.methods:
        if source == main or len(numbers.settings_of(source)) < _A_CURVE:
            continue
        worse, better, same, off = [], [], [], []
        for value in equal["values"]:
            setting, shown = equal_setting(equal, value), f"{value:g}"
            other = numbers.series(source, deterministic, setting)
            mine = numbers.series(main, deterministic, setting)
            # What only a few repeats reach is no comparison.
            if mine.empty:
                continue
            if len(other) < max(numbers.repeats(source) / 2, 1):
                off.append(shown)
                continue
            found = numbers.difference(other, mine)
            low, high = found[1:3] if not np.isnan(found[1]) else (found[0], found[0])
            entry = (shown, found)
            (worse if low > 0 else better if high < 0 else same).append(entry)
        if not worse and not better and not same:
            continue
        parts = []
        for entries, word in ((worse, "errs more"), (better, "errs less")):
            if entries:
                most, difference = max(entries, key=lambda entry: abs(entry[1][0]))
                where = listing(entry[0] for entry in entries)
                parts.append(f"{word} at {where} (most at {most}: {_points(difference)})")
        if same:
            parts.append(f"is not told apart at {listing(entry[0] for entry in same)}")
        if off:
            parts.append(f"does not come to {listing(off)}")
        texts.append(
            f"{numbers.label(source)} beside {numbers.label(main)}, at equal test {name}: "
            f"{'; '.join(parts)}."
        )
    reached = [
        setting
        for setting in (equal_setting(equal, value) for value in equal["values"])
        if numbers.series(main, deterministic, setting).size
        and numbers.series(main, randomised, setting).size
    ]
    if reached:
        found = [
            numbers.difference(
                numbers.series(main, deterministic, setting),
                numbers.series(main, randomised, setting),
            )
            for setting in reached
        ]
        means = [one[0] for one in found]
        texts.append(
            f"{numbers.label(main)}: the deterministic rule's error minus the randomised one's is "
            f"{_span(means)} points at equal {name}s; the deterministic rule is "
            f"{'better' if max(means) < 0 else 'worse' if min(means) > 0 else 'not always better'}."
        )
    return texts


def relaxation_sentences(numbers):
    """What seven more convex steps bring, and what the hinge costs."""
    asked = numbers.asked
    if not asked or "ramp" not in numbers.methods:
        return []
    measure, texts = asked["measure"], []
    for other, name in (("ramp_one", "one convex step"), ("hinge", "the hinge")):
        if other not in numbers.methods:
            continue
        settings = [
            setting
            for setting in numbers.settings_of("ramp")
            if setting in numbers.settings_of(other) and numbers.active("ramp", setting)
        ]
        if not settings:
            continue
        distance = {
            source: float(
                np.nanmean(
                    [
                        abs(numbers.excess(source, setting, "deterministic", "general"))
                        for setting in settings
                    ]
                )
            )
            for source in ("ramp", other)
        }
        errors = {
            source: float(
                np.nanmean(
                    [
                        numbers.mean(source, Rate("deterministic", "error"), setting)
                        for setting in settings
                    ]
                )
            )
            for source in ("ramp", other)
        }
        nearer = "nearer" if distance["ramp"] < distance[other] else "no nearer"
        texts.append(
            f"Over the {count(len(settings), 'setting')} that bind, the {measure_name(measure)} is "
            f"on average {percent(distance['ramp'])} from what was asked after all convex steps on "
            f"the ramp and {percent(distance[other])} with {name}: the full ramp is {nearer}. Mean "
            f"test errors are {percent(errors['ramp'], 2)} and {percent(errors[other], 2)}."
        )
    return texts


def gap_sentences(numbers):
    """Whether what holds on training rows holds on test rows."""
    asked, main = numbers.asked, numbers.main()
    if not asked or main is None:
        return []
    measure = asked["measure"]
    gaps = {
        setting: numbers.estimate(main, Rate("gap", measure), setting)
        for setting in numbers.settings_of(main)
        if not np.isnan(numbers.asks(main, setting))
    }
    gaps = {setting: found for setting, found in gaps.items() if not np.isnan(found[0])}
    if not gaps:
        return []
    relative = {setting: found[0] / numbers.asks(main, setting) for setting, found in gaps.items()}
    worst = max(relative, key=lambda setting: abs(relative[setting]))
    beyond = sum(found[1] > 0 or found[2] < 0 for found in gaps.values())
    grade = "good" if abs(relative[worst]) <= TEST_DISTANCE[0] else "poor"
    return [
        f"{numbers.label(main)}: from training to test rows the randomised {measure_name(measure)} "
        f"changes by at most {percent(abs(relative[worst]))} of what was asked (at "
        f"{setting_label(worst)}; {grade}); its interval excludes 0 at {beyond} of "
        f"{count(len(gaps), 'setting')}."
    ]


def fit_sentences(numbers):
    """Whether the optimiser did what is proved of it."""
    rises, broken, gaps = [], [], []
    for source in numbers.methods:
        for found, metric in (
            (rises, "objective_rise"),
            (broken, "largest_violation"),
            (gaps, "largest_gap"),
        ):
            table = numbers.table(source, metric)
            if not table.empty:
                found += [float(v) for v in table.to_numpy().ravel() if not np.isnan(v)]
    texts = []
    if rises:
        rose = sum(value > _ROUNDING for value in rises)
        texts.append(
            f"The objective rose in a convex step in {rose} of {count(len(rises), 'fit')}"
            f" ({'good' if not rose else 'poor'})."
        )
    if broken:
        over = sum(value > 1e-6 for value in broken)
        texts.append(
            f"Of {count(len(broken), 'fit')} from a start that keeps the constraints, {over} left "
            f"them on the way ({'good' if not over else 'poor'})."
        )
    if gaps:
        texts.append(f"The largest certified gap of a convex step is {max(gaps):.1g}.")
    return texts
