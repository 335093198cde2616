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
    option_text,
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


def sentences(results):
    """One sentence for each thing that the study shows; see `FilterResults`."""
    told = (
        start_sentence(results),
        balance_sentence(results),
        reach_sentence(results),
        disclosure_sentence(results),
        attribute_sentence(results),
        best_sentence(results),
        group_sentence(results),
        classifier_sentence(results),
        bound_sentence(results),
        given_sentence(results),
    )
    return [text for text in told if text]


def _labels(results):
    return dict(methods_of(results.plan))


def start_sentence(results):
    """Imbalance before filtering, by group."""
    parts = [
        f"{number(results.start(target).mean, 3)} on {ROWS[target]}"
        for target in ROWS
        if results.start(target).known
    ]
    groups = results.groups()
    if not parts:
        return ""
    text = f"Before filtering the imbalance is {listing(parts)}"
    shares = {
        group: results.get("labels", "group_share", "train", part=group).mean for group in groups
    }
    if shares:
        most, least = max(shares, key=shares.get), min(shares, key=shares.get)
        text += (
            f": of {len(shares)} groups, {most} has {percent(shares[most])} of the training rows "
            f"and {least} {percent(shares[least], 2)}"
        )
    return text + "."


def _middle(results, name):
    """The setting that a method is judged at in words: alpha nearest 0.2."""
    setting = results.at(name, MIDDLE)
    return setting if setting and setting_value(setting)[1] > 0 else None


def balance_sentence(results):
    """What the main proxy makes of the sample at alpha 0.2."""
    name = main_method(results, "relaxed", "alpha_beta")
    if name is None or results.option(name) != "alpha":
        return ""
    setting = _middle(results, name)
    train, test = (results.get(name, "imbalance", target, setting) for target in ROWS)
    way, rate = (
        results.way(name, setting, "test"),
        results.get(name, "acceptance_rate", "train", setting),
    )
    if not setting or not test.known:
        return ""
    grade = way_grade(way)
    text = (
        f"At {setting_label(setting)} the {_named(results, name)} brings it to "
        f"{number(train.mean, 3)} on training and {number(test.mean, 3)} on test rows"
    )
    if not math.isnan(way):
        text += f", {percent(way, 0)} of the way to the least that any filter can reach ({grade})"
    if rate.known:
        text += f", and accepts {chance_text(rate.mean)} of the candidates"
    return text + "."


def _named(results, name):
    label = _labels(results)[name]
    return label[0].lower() + label[1:] if label[1:2].islower() else label


def reach_sentence(results):
    """How near the proxies come to perfect balance when disclosure is not limited."""
    parts = []
    for name in ("relaxed", "relaxed_deep", "alpha_beta", "alpha_beta_deep"):
        settings = results.settings(name) if name in _labels(results) else []
        if not settings:
            continue
        setting = settings[-1][1]
        train, test = (results.get(name, "imbalance", target, setting).mean for target in ROWS)
        if not math.isnan(train + test):
            parts.append(f"{_labels(results)[name]} {number(train, 3)} and {number(test, 3)}")
    if not parts:
        return ""
    return (
        "With the largest α the imbalance on training and test rows is "
        f"{'; '.join(parts)}. The gap between the two is what a tree learned by heart."
    )


def disclosure_sentence(results):
    """Whether trees keep within alpha: in training by construction, on test rows by luck."""
    inside, outside = [], []
    for name, label in methods_of(results.plan):
        # Thresholded splits have no mixture that could be brought back within alpha.
        if results.option(name) != "alpha" or name.endswith("_fixed"):
            continue
        for value, setting in results.settings(name):
            measured = results.get(name, "disclosivity", "train", setting)
            if measured.known:
                inside.append((measured.greatest - value, label, setting))
            over = results.over(name, setting)
            if not math.isnan(over):
                outside.append((over, label, setting))
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


def attribute_sentence(results):
    """Naive and QP proxies start from a classifier of the very attribute."""
    parts = []
    for name, label in methods_of(results.plan):
        shown = results.get(name, "disclosivity", "train", "eta=0")
        if name in _PROXY_BY_CLASSIFIER and shown.known:
            test = results.get(name, "disclosivity", "test", "eta=0")
            parts.append(f"{label} {number(shown.mean, 3)} ({number(test.mean, 3)})")
    if not parts:
        return ""
    return (
        "Naive and QP proxies train a classifier of the attribute, without any limit on what it "
        f"discloses; before it is blurred (η = 0) its disclosivity in training (test) is "
        f"{listing(parts)}."
    )


def within(results, name, target, budget):
    """Least mean imbalance of a method among its settings of mean disclosivity up to a budget."""
    values = [
        results.get(name, "imbalance", target, setting).mean
        for _, setting in results.settings(name, target=target)
        if results.get(name, "disclosivity", target, setting).mean <= budget
    ]
    return min((value for value in values if not math.isnan(value)), default=math.nan)


def best_sentence(results):
    """Which proxy balances best at the same disclosivity on test rows."""
    parts = []
    for budget in _BUDGETS:
        values = {
            label: within(results, name, "test", budget)
            for name, label in methods_of(results.plan)
            if results.option(name)
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


def group_sentence(results):
    """What becomes of the least represented group."""
    name, groups = main_method(results, "relaxed", "alpha_beta"), results.groups()
    setting = _middle(results, name) if name else None
    shares = {
        group: results.get("labels", "group_share", "test", part=group).mean for group in groups
    }
    shares = {group: share for group, share in shares.items() if share > 0}
    if not setting or not shares:
        return ""
    least = min(shares, key=shares.get)
    gain = results.get(name, "group_gain", "test", setting, least)
    share = results.get(name, "group_share", "test", setting, least)
    if not (gain.known and share.known):
        return ""
    return (
        f"The least represented group, {least}, has {percent(shares[least], 2)} of the test rows "
        f"and {percent(share.mean, 2)} of those accepted at {setting_label(setting)}: "
        f"{number(gain.mean, 2)} times its share ({_named(results, name)})."
    )


def classifier_sentence(results):
    """What a classifier gains or loses by training on the balanced sample."""
    name = main_method(results, "relaxed", "alpha_beta")
    settings = trained_settings(results, name) if name else []
    settings = [setting for setting in settings if setting_value(setting)[1] > 0]
    if not settings:
        return ""
    setting = min(settings, key=lambda one: abs(setting_value(one)[1] - MIDDLE))
    change = difference_from_everyone(results, name, "accuracy", setting)
    worst = difference_from_everyone(results, name, "accuracy_worst", setting)
    accuracy = results.get(name, "accuracy", "test", setting).mean
    if math.isnan(change):
        return ""
    text = (
        f"A classifier trained on what the {_named(results, name)} accepts at "
        f"{setting_label(setting)} is right on {percent(accuracy)} of the test rows, "
        f"{number(100 * change, 1, sign=True)} points against training on everyone "
        f"({rises(-change, LOST)})"
    )
    if not math.isnan(worst):
        text += (
            f"; in the group that it serves worst, {number(100 * worst, 1, sign=True)} points "
            f"({rises(-worst, LOST)})"
        )
    return text + "."


def bound_sentence(results):
    """Where Theorem 3 says anything, and whether it held."""
    settings, empty, broken = 0, {"disclosivity": 0, "imbalance": 0}, []
    for name, label in methods_of(results.plan):
        measured = results.settings(name, "bound_disclosivity", "test")
        for _, setting in measured if results.option(name) == "alpha" else ():
            settings += 1
            for what in vacuous(results, name, setting):
                empty[what] += 1
            for what in empty:
                bound = results.get(name, f"bound_{what}", "test", setting).mean
                if results.get(name, what, "test", setting).mean > bound:
                    broken.append(f"{label} at {setting_label(setting)} ({what})")
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


def given_sentence(results):
    """The filter that the study gives away."""
    given = (results.plan.get("filter") or {}).get("given") or {}
    if given.get("method") not in _labels(results):
        return ""
    return (
        f"The filter to take away (filter.parquet, with a card in filter.md) is the "
        f"{_named(results, given['method'])} at {setting_label(given['setting'])}: it asks nobody "
        "for the group."
    )


def warnings(results):
    """What to take with care: unreached target, few rows in leaves."""
    for name, label in methods_of(results.plan):
        few = [
            setting
            for _, setting in results.settings(name)
            if results.get(name, "collected", "train", setting).mean < _FEW_COLLECTED
        ]
        if few:
            yield (
                f"{label}: fewer than {_FEW_COLLECTED} training rows are expected in the sample at "
                f"{_range(few)}: the balance is bought by turning nearly everybody away."
            )
        if results.option(name) != "alpha" or name.endswith("_fixed"):
            continue
        setting = results.settings(name)[-1][1]
        rows, over = (
            results.get(name, "disclosivity_rows", "test", setting),
            results.over(name, setting),
        )
        if rows.known and rows.mean < _FEW_ROWS and over_grade(over) != "good":
            yield (
                f"{label}: at {setting_label(setting)} the leaf that discloses most on test rows "
                f"holds {number(rows.mean, 0)} of them on average, so that its disclosivity is "
                "mostly chance."
            )
        elif over_grade(over) == "poor":
            yield (
                f"{label}: at {setting_label(setting)} the disclosivity on test rows is "
                f"{number(over, 3)} above α: α is a promise about training rows only."
            )


def _range(settings):
    """Settings in words: the only one, or the first and last with their number."""
    if len(settings) == 1:
        return setting_label(settings[0])
    ends = f"{setting_label(settings[0])} to {option_text(setting_value(settings[-1])[1])}"
    return f"{count(len(settings), 'setting')} ({ends})"


def counts(results):
    """Counts that must not be hidden, as sentences; those of zero are left out."""
    labels = _labels(results)
    for metric, words in COUNTED:
        rows = results.metrics[
            (results.metrics["metric"] == metric) & (results.metrics["value"] > 0)
        ]
        for source, part in rows.groupby("source", sort=False):
            if source == "labels" or source in labels:
                named = f" ({labels[source]})" if source in labels else ""
                yield f"{number(part['value'].max(), 0)} {words}{named}."
