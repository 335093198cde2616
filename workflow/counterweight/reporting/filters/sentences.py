"""What the numbers of a study of balanced filtering say, in sentences."""

import math

from counterweight.reporting.filters.sheets import (
    LOST,
    MIDDLE,
    ROWS,
    difference_from_everyone,
    over_grade,
    trained_settings,
    vacuous,
    way_grade,
)
from counterweight.reporting.filters.tables import main_method, methods_of, setting_value
from counterweight.reporting.page.summaries import rises
from counterweight.reporting.page.wording import (
    chance_text,
    count,
    listing,
    number,
    percent,
    setting_label,
)

#: Rounding of a tree's shares, in disclosivity.
_EXACT = 1e-6
#: Disclosivity at which methods are compared in words.
_BUDGETS = (0.1, 0.2, 0.4)
#: Test rows of a leaf below which its shares are mostly chance.
_FEW_ROWS = 30
#: Expected rows of a sample that is too small for most uses.
_FEW_COLLECTED = 100
_PROXY_BY_CLASSIFIER = ("naive_regression", "naive_tree", "qp_regression", "qp_tree")
#: Counts that must not be hidden.
COUNTED = (
    ("rows_dropped", "rows of the table were left out"),
    ("rows_missing", "rows lack the group"),
    ("values_missing", "values could not be measured"),
)


def sentences(found):
    """One sentence for each thing that the study shows; see `FilterResults`."""
    told = (
        start_sentence(found),
        balance_sentence(found),
        reach_sentence(found),
        disclosure_sentence(found),
        attribute_sentence(found),
        best_sentence(found),
        group_sentence(found),
        classifier_sentence(found),
        bound_sentence(found),
        given_sentence(found),
    )
    return [text for text in told if text]


def _labels(found):
    return dict(methods_of(found.plan))


def start_sentence(found):
    """Imbalance before filtering, by group."""
    parts = [
        f"{number(found.start(target).mean, 3)} on {ROWS[target]}"
        for target in ROWS
        if found.start(target).known
    ]
    groups = found.groups()
    if not parts:
        return ""
    text = f"Before filtering the imbalance is {listing(parts)}"
    shares = {group: found.get("labels", "group_share", "train", group).mean for group in groups}
    if shares:
        most, least = max(shares, key=shares.get), min(shares, key=shares.get)
        text += (
            f": of {len(shares)} groups, {most} has {percent(shares[most])} of the training rows "
            f"and {least} {percent(shares[least], 2)}"
        )
    return text + "."


def _middle(found, name):
    """The setting that a method is judged at in words: alpha nearest 0.2."""
    item = found.at(name, MIDDLE)
    return item if item and setting_value(item)[1] > 0 else None


def balance_sentence(found):
    """What the main proxy makes of the sample at alpha 0.2."""
    name = main_method(found, "relaxed", "alpha_beta")
    if name is None or found.option(name) != "alpha":
        return ""
    item = _middle(found, name)
    train, test = (found.get(name, "imbalance", target, item) for target in ROWS)
    way, rate = found.way(name, item, "test"), found.get(name, "acceptance_rate", "train", item)
    if not item or not test.known:
        return ""
    grade = way_grade(way)
    text = (
        f"At {setting_label(item)} the {_named(found, name)} brings it to {number(train.mean, 3)} "
        f"on training and {number(test.mean, 3)} on test rows"
    )
    if not math.isnan(way):
        text += f", {percent(way, 0)} of the way to the least that any filter can reach ({grade})"
    if rate.known:
        text += f", and accepts {chance_text(rate.mean)} of the candidates"
    return text + "."


def _named(found, name):
    label = _labels(found)[name]
    return label[0].lower() + label[1:] if label[1:2].islower() else label


def reach_sentence(found):
    """How near the proxies come to perfect balance when disclosure is not limited."""
    parts = []
    for name in ("relaxed", "relaxed_deep", "alpha_beta", "alpha_beta_deep"):
        settings = found.settings(name) if name in _labels(found) else []
        if not settings:
            continue
        item = settings[-1][1]
        train, test = (found.get(name, "imbalance", target, item).mean for target in ROWS)
        if not math.isnan(train + test):
            parts.append(f"{_labels(found)[name]} {number(train, 3)} and {number(test, 3)}")
    if not parts:
        return ""
    return (
        "With the largest α the imbalance on training and test rows is "
        f"{'; '.join(parts)}. The gap between the two is what a tree learned by heart."
    )


def disclosure_sentence(found):
    """Whether trees keep within alpha: in training by construction, on test rows by luck."""
    inside, outside = [], []
    for name, label in methods_of(found.plan):
        # Thresholded splits have no mixture that could be brought back within alpha.
        if found.option(name) != "alpha" or name.endswith("_fixed"):
            continue
        for value, item in found.settings(name):
            measured = found.get(name, "disclosivity", "train", item)
            if measured.known:
                inside.append((measured.greatest - value, label, item))
            over = found.over(name, item)
            if not math.isnan(over):
                outside.append((over, label, item))
    if not inside:
        return ""
    most = max(inside)
    if most[0] <= _EXACT:
        text = (
            "On training rows no tree discloses more than its α, in any repeat at any of "
            f"{len(inside)} settings"
        )
    else:
        text = (
            f"On training rows the disclosivity exceeds α by up to {number(most[0], 4)} "
            f"({most[1]}, {setting_label(most[2])}): this should not happen"
        )
    if outside:
        most = max(outside)
        held = sum(over <= 0 for over, _, _ in outside)
        if most[0] <= 0:
            text += "; nor does any on test rows in the mean"
        else:
            text += (
                f"; on test rows the mean is at most α at {held} of {len(outside)}, and at most "
                f"{number(most[0], 3)} above it ({most[1]}, {setting_label(most[2])}; "
                f"{over_grade(most[0])})"
            )
    return text + "."


def attribute_sentence(found):
    """Naive and QP proxies start from a classifier of the very attribute."""
    parts = []
    for name, label in methods_of(found.plan):
        shown = found.get(name, "disclosivity", "train", "eta=0")
        if name in _PROXY_BY_CLASSIFIER and shown.known:
            test = found.get(name, "disclosivity", "test", "eta=0")
            parts.append(f"{label} {number(shown.mean, 3)} ({number(test.mean, 3)})")
    if not parts:
        return ""
    return (
        "Naive and QP proxies train a classifier of the attribute, without any limit on what it "
        f"discloses; before it is blurred (η = 0) its disclosivity in training (test) is "
        f"{listing(parts)}."
    )


def within(found, name, target, budget):
    """Least mean imbalance of a method among its settings of mean disclosivity up to a budget."""
    values = [
        found.get(name, "imbalance", target, item).mean
        for _, item in found.settings(name, target=target)
        if found.get(name, "disclosivity", target, item).mean <= budget
    ]
    return min((value for value in values if not math.isnan(value)), default=math.nan)


def best_sentence(found):
    """Which proxy balances best at the same disclosivity on test rows."""
    parts = []
    for budget in _BUDGETS:
        values = {
            label: within(found, name, "test", budget)
            for name, label in methods_of(found.plan)
            if found.option(name)
        }
        values = {label: value for label, value in values.items() if not math.isnan(value)}
        if len(values) > 1:
            best = min(values, key=values.get)
            parts.append(f"{number(budget, 1)}: {best} ({number(values[best], 3)})")
    if not parts:
        return ""
    return (
        "Least imbalance on test rows among settings of a disclosivity there of at most "
        f"{'; '.join(parts)}."
    )


def group_sentence(found):
    """What becomes of the least represented group."""
    name, groups = main_method(found, "relaxed", "alpha_beta"), found.groups()
    item = _middle(found, name) if name else None
    shares = {group: found.get("labels", "group_share", "test", group).mean for group in groups}
    shares = {group: share for group, share in shares.items() if share > 0}
    if not item or not shares:
        return ""
    least = min(shares, key=shares.get)
    gain = found.get(name, "group_gain", "test", f"{item}#{least}")
    share = found.get(name, "group_share", "test", f"{item}#{least}")
    if not (gain.known and share.known):
        return ""
    return (
        f"The least represented group, {least}, has {percent(shares[least], 2)} of the test rows "
        f"and {percent(share.mean, 2)} of those accepted at {setting_label(item)}: "
        f"{number(gain.mean, 2)} times its share ({_named(found, name)})."
    )


def classifier_sentence(found):
    """What a classifier gains or loses by training on the balanced sample."""
    name = main_method(found, "relaxed", "alpha_beta")
    items = trained_settings(found, name) if name else []
    items = [item for item in items if setting_value(item)[1] > 0]
    if not items:
        return ""
    item = min(items, key=lambda one: abs(setting_value(one)[1] - MIDDLE))
    change = difference_from_everyone(found, name, "accuracy", item)
    worst = difference_from_everyone(found, name, "accuracy_worst", item)
    accuracy = found.get(name, "accuracy", "test", item).mean
    if math.isnan(change):
        return ""
    text = (
        f"A classifier trained on what the {_named(found, name)} accepts at {setting_label(item)} "
        f"is right on {percent(accuracy)} of the test rows, "
        f"{number(100 * change, 1, sign=True)} points against training on everyone "
        f"({rises(-change, LOST)})"
    )
    if not math.isnan(worst):
        text += (
            f"; in the group that it serves worst, {number(100 * worst, 1, sign=True)} points "
            f"({rises(-worst, LOST)})"
        )
    return text + "."


def bound_sentence(found):
    """Where Theorem 3 says anything, and whether it held."""
    settings, empty, broken = 0, {"disclosivity": 0, "imbalance": 0}, []
    for name, label in methods_of(found.plan):
        measured = found.settings(name, "bound_disclosivity", "test")
        for _, item in measured if found.option(name) == "alpha" else ():
            settings += 1
            for what in vacuous(found, name, item):
                empty[what] += 1
            for what in empty:
                bound = found.get(name, f"bound_{what}", "test", item).mean
                if found.get(name, what, "test", item).mean > bound:
                    broken.append(f"{label} at {setting_label(item)} ({what})")
    if not settings:
        return ""
    if all(times == settings for times in empty.values()):
        text = (
            "Theorem 3's bound is vacuous at every setting here: on disclosivity it allows 1 or "
            "more, on imbalance more than no filter has"
        )
    else:
        text = (
            f"Theorem 3's bound is vacuous on disclosivity at {empty['disclosivity']} and on "
            f"imbalance at {empty['imbalance']} of {settings} settings"
        )
    held = "It is kept everywhere" if not broken else f"It is broken by {listing(broken[:3])}"
    return f"{text}. {held}; what was measured says more."


def given_sentence(found):
    """The filter that the study gives away."""
    given = (found.plan.get("filter") or {}).get("given") or {}
    if given.get("method") not in _labels(found):
        return ""
    return (
        f"The filter to take away (filter.parquet, with a card in filter.md) is the "
        f"{_named(found, given['method'])} at {setting_label(given['setting'])}: it asks nobody "
        "for the group."
    )


def warnings(found):
    """What to take with care: unreached target, few rows in leaves."""
    for name, label in methods_of(found.plan):
        few = [
            item
            for _, item in found.settings(name)
            if found.get(name, "collected", "train", item).mean < _FEW_COLLECTED
        ]
        if few:
            yield (
                f"{label}: fewer than {_FEW_COLLECTED} training rows are expected in the sample at "
                f"{_range(few)}: the balance is bought by turning nearly everybody away."
            )
        if found.option(name) != "alpha" or name.endswith("_fixed"):
            continue
        item = found.settings(name)[-1][1]
        rows, over = found.get(name, "disclosivity_rows", "test", item), found.over(name, item)
        if rows.known and rows.mean < _FEW_ROWS and over_grade(over) != "good":
            yield (
                f"{label}: at {setting_label(item)} the leaf that discloses most on test rows "
                f"holds {number(rows.mean, 0)} of them on average, so that its disclosivity is "
                "mostly chance."
            )
        elif over_grade(over) == "poor":
            yield (
                f"{label}: at {setting_label(item)} the disclosivity on test rows is "
                f"{number(over, 3)} above α: α is a promise about training rows only."
            )


def _range(items):
    """Settings in words: the only one, or the first and last with their number."""
    if len(items) == 1:
        return setting_label(items[0])
    ends = f"{setting_label(items[0])} to {setting_label(items[-1]).partition(' = ')[2]}"
    return f"{count(len(items), 'setting')} ({ends})"


def counts(found):
    """Counts that must not be hidden, as sentences; those of zero are left out."""
    labels = _labels(found)
    for metric, words in COUNTED:
        rows = found.metrics[(found.metrics["metric"] == metric) & (found.metrics["value"] > 0)]
        for source, part in rows.groupby("source", sort=False):
            if source == "labels" or source in labels:
                named = f" ({labels[source]})" if source in labels else ""
                yield f"{number(part['value'].max(), 0)} {words}{named}."
