"""Weights to a target that is not the rest of the table: a second table, or known margins."""

from pathlib import Path

import numpy as np

from counterweight.datasets.own_table import typed_like
from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Option, Text
from counterweight.labeling.columns import equal, free_name
from counterweight.numerics.checks import with_columns
from counterweight.numerics.estimate import around, doubly_robust_mean, freedom_of
from counterweight.tables.parquet import read_table
from counterweight.tables.table_reader import read_columns
from counterweight.weighting.importance_weights import describe_sizes
from counterweight.weighting.sample import Sample
from counterweight.weighting.targets import design_effect, trim_weights

TASK = "missing_outcomes"
#: Whom its weights stand for takes the place of everybody in the table.
TARGET = "general"
LABEL = "weights to the target"
OPTIONS = {
    "table": Text(None, "File of a reference sample, with columns of the same names.", null=True),
    "margins": Option(None,
        "In place of a table: by column the shares or totals of its values, or its mean.",
        type="object", additionalProperties={"type": "object", "minProperties": 1}, null=True),
    "columns": Array(None, "Columns to go by; all features unless named.", items={"type": "string"}, null=True),
    "weight": Text(None, "Column of design weights of the reference sample.", null=True),
    "method": Choice(None, ["cbps", "ipw", "rake", "poststratify", None], "How weights are made: cbps for a table and rake for margins unless named."),
}  # fmt: skip
ASSUMES = (
    "If the outcomes of {whom} are like those of labeled rows with the same features",
    "Those that answers are for are taken to turn out as labeled rows with the same features, and "
    "to be, in all that is not known of them, as rows of the table with the same known features "
    "are. Nothing in the table can show that they do.",
)
#: The outcome among the columns of a sample.
OUTCOME = "outcome that is known"
#: What to do where there is no reference sample.
ABSENT = "correct the path under target.table"
#: Standard deviations by which a margin may be missed.
MISSED = 0.05
#: Rows of a target that are foretold at a time.
BATCH = 100_000
#: Largest design effect of balance with a table: where few rows resemble the target, means are met
#: as nearly as that allows. Exact balance is then worth some ten rows, and a fit by it is far off.
MOST_EFFECT = 20.0


def words_for(table, margins):
    """Whom the weights stand for, in print."""
    if table:
        return f"the people of {Path(table).name.removesuffix('.parquet')}"
    *others, last = (f"“{column}”" for column in margins)
    named = f"{', '.join(others)} and {last}" if others else last
    return f"people with the given margins of {named}"


def population_of(types, forms, features, reading, *, table, margins, columns, weight, method):
    """The rows of the reference sample, typed as the table was; None where there are margins.

    They have the columns to go by, the weight, and all `features` where the file has them all.
    `types` and `forms` are of the table's columns, as
    `counterweight.datasets.own_table.typed_like` has them; the rest are options of the weighting.
    """
    if not table:
        return None
    rows = read_columns(table, absent=ABSENT, nameless=True, reading=reading)
    names = rows.column_names
    needed = list(dict.fromkeys([*(columns or features), *([weight] if weight else [])]))
    absent = [name for name in needed if name not in names]
    if absent:
        raise CounterweightError(
            f"{table} has no column {listed(absent)}, which the rows are weighted by; it has "
            f"{listed(names, 30)}: add it, or name under target.columns those to go by."
        )
    strange = [name for name in needed if name not in types and name != weight]
    if strange:
        raise CounterweightError(
            f"target.columns names {strange[0]!r}, which the table does not have; it has "
            f"{listed(list(types), 30)}."
        )
    if not rows.num_rows:
        raise CounterweightError(f"{table} has no row: there is nobody to stand for.")
    if all(name in names for name in features):
        needed = list(dict.fromkeys([*needed, *features]))
    known = dict(types) | ({weight: "number"} if weight else {})
    return typed_like(table, rows, known, needed=needed, forms=forms, reading=reading)


def to_target(
    frame,
    types,
    design,
    population,
    features,
    most=None,
    *,
    table=None,
    margins=None,
    columns=None,
    weight=None,
    method=None,
    forms=None,
):
    """Labeled rows weighted to a reference sample, or to known margins.

    The `frame` has labeled rows, typed, `forms` say how texts of its columns were read. `design`
    (M,) are their weights, to which the new ones are as near as can be; `population` is from
    `population_of`, `most` the largest weight, in mean weights. For the rest see `OPTIONS` and
    `counterweight.weighting.sample.Sample.adjust`.

    Returns what is `Adjusted`, with the balance before and after, and the weights (M,) before the
    cap, of mean 1.
    """
    name = free_name("weight of the design", frame.columns)
    if population is not None:
        by = list(columns or features)
        target = Sample(population[[*by, *([weight] if weight else [])]], weight=weight)
    else:
        target, by = dict(margins), None
        for column in types.keys() & margins.keys():
            told = types[column], margins[column], (forms or {}).get(column, {})
            values, target[column] = _typed(frame[column], *told)
            frame = with_columns(frame, {column: values})
    sample = Sample(with_columns(frame, {name: np.asarray(design)}), weight=name, columns=by)
    effect = None
    if population is not None and method in (None, "cbps"):
        effect = MOST_EFFECT * design_effect(np.asarray(design, float))
    adjusted = sample.adjust(target, method, most_effect=effect)
    raw = adjusted.weights.to_numpy()
    if most is not None and raw.max() > most * raw.mean():
        adjusted = sample.adjust(target, weights=trim_weights(raw, mean_ratio=most))
    return adjusted, raw / raw.mean()


def _typed(values, kind, told, form):
    """A column and its margin, levels written alike in both.

    Those of a boolean are the words that its texts were read by, of numbers the numbers.
    """
    if kind == "text" or {*told} <= {"mean", "sd"}:
        return values, dict(told)
    made, named = {}, values.astype(object)
    for level, share in told.items():
        there = equal(values, level, text=False)
        value = values[there].iloc[0] if there.any() else level
        if kind == "boolean" and there.any():
            value = form.get("true" if value else "false", str(level))
            named[there] = value
        made[value] = share
    return named if kind == "boolean" else values, made


def weighted_to_target(data, table, reading, spec):
    """Weights of a study's labeled rows to its target.

    Of margins, or of a reference sample without some of the features, all rows of the table are
    weighted to it first, with an outcome or without: those that have one are no sample of the
    others, in what the margins do not tell either.

    `table` str: file of the typed table; `spec` dict: ``options`` and ``max_weight`` of the
    weighting. Returns adjusted, raw: as `to_target`; the frame of `adjusted` has the outcome as
    `OUTCOME`. Then the rows of the target, the column of their weights, and how all rows of the
    table were weighted, None where they were not.
    """
    features, options = list(data.encoder.columns_), spec["options"]
    rows = read_table(table).reset_index(drop=True)
    population = population_of(data.types, data.forms, features, reading, **options)
    most, whole = spec["max_weight"], None
    known = population is not None and {*features} <= {*population.columns}
    if not (known or data.labeled.all()):
        told = rows, data.types, data.weight, population, features, most
        whole, _ = to_target(*told, **options, forms=data.forms)
        weight = free_name("weight of the target", rows.columns)
        population = with_columns(rows[features], {weight: whole.weights.to_numpy()})
        options = {"weight": weight}
    seen = rows[data.labeled].reset_index(drop=True)
    made = to_target(
        with_columns(seen, {OUTCOME: data.y[data.labeled]}),
        data.types,
        data.weight[data.labeled],
        population,
        features,
        most,
        **options,
        forms=data.forms,
    )
    return *made, population, options["weight"], whole


def describe_to_target(adjusted, raw):
    """Quality of such weights, as metric records: sizes, and balance before and after."""
    weights = adjusted.weights.to_numpy()
    weights = weights / weights.mean()
    records = describe_sizes(raw, weights, int((raw > weights * (1 + 1e-9)).sum()))
    for line in adjusted.balance().to_dict("records"):
        part = " = ".join(filter(None, (line["column"], line["level"])))
        records += [
            {"metric": f"balance_{when}", "part": part, "value": line[when], "rows": len(weights)}
            for when in ("before", "after")
        ]
    return records


def _missed(adjusted):
    """That the weights stop short of margins, "" where they meet them."""
    name, worst = adjusted.worst()
    if abs(worst["after"]) <= MISSED:
        return ""
    return (
        f"The margins are not met: with the largest weights that are allowed, {name} is "
        f"{worst['adjusted']:.4g} on average for the {worst['target']:.4g} asked, so the answer is "
        "for people between those of the table and those asked for."
    )


def mean_elsewhere(data, tested, prediction, saved, table, given):
    """Mean outcome of a target outside the table, its error and rows, and facts: words for it.

    A reference sample with all features is foretold, and its mean put right by what labeled rows
    show (doubly robust); so are the rows of the table where they stand for margins. Where all rows
    of the table have an outcome and not all features are known of the target it is the weighted
    mean, whose error knows what the weights were made to meet. Where all features are known there
    is, too, what `counterweight.weighting.no_outcomes.ends_of` asks of rows unlike all labeled
    ones, and the mean of rows of a mask; else None.
    """
    options = given["elsewhere"]["options"]
    told = data, table, given["reading"], given["elsewhere"]
    adjusted, _, population, weight, whole = weighted_to_target(*told)
    said = whole.summary().split("\n") if whole else []
    whom = words_for(options["table"], options["margins"])
    missed = _missed(whole or adjusted) if options["margins"] else ""
    facts = {
        "for": f"people between those of the table and {whom}" if missed else whom,
        "target": said + adjusted.summary().split("\n"),
        "missed": missed,
    }
    if population is None or not {*data.encoder.columns_} <= {*population.columns}:
        known = adjusted.mean(OUTCOME)
        rows = len(data.y[data.labeled]) if population is None else len(population)
        return known.value, known.standard_error, rows, facts, None
    parts = []
    for start in range(0, len(population), BATCH):
        rows = data.encoder.encode(population.iloc[start : start + BATCH])
        parts.append((saved.model.predict(rows), saved.unlike(rows)))
    estimates, outside = (np.concatenate(part) for part in zip(*parts, strict=True))
    design = np.ones(len(population))
    if weight:
        design = population[weight].to_numpy(float)
    facts["target"].append(
        f"{np.average(outside, weights=design):.1%} of {facts['for']} resemble no row that has an "
        "outcome: what is said of them rests on the form of the model alone."
    )

    def of_some(mask):
        """Mean of rows of a mask, its error and the ends of its interval."""
        told = tested.weight, estimates[mask], design[mask]
        mean, _ = doubly_robust_mean(tested.y, prediction, *told)
        mean = float(np.clip(mean, *tested.bounds))
        error = _error(tested.y - prediction, *told, tested.group, tested.binary)
        return mean, error, *map(float, around(mean, 1.959964 * error, tested.bounds))

    mean, error, *_ = of_some(outside | True)
    lost = data.encoder.encode(population.iloc[np.flatnonzero(outside)])
    return mean, error, len(population), facts, (lost, estimates, ~outside, design, of_some)


def _error(residual, weight, estimates, design, group, binary):
    """Error of a doubly robust mean whose normal interval holds the mean of the target's rows.

    It has the residuals (M,) of labeled rows, jackknifed and with the t quantile of as many degrees
    of freedom as they show their own variance by, and the chance in the target's own outcomes; or,
    where that is larger, in who of a population is in the target.
    """
    from scipy.special import ndtri, stdtrit

    weight, share = weight / weight.sum(), design / design.sum()
    influence = weight * (residual - weight @ residual) / (1 - np.minimum(weight, 0.5))
    if group is not None:
        influence = np.bincount(np.unique(group, return_inverse=True)[1], influence)
    squares = np.square(influence)
    learned, rows = float(squares.sum()), len(squares)
    spread = np.average((estimates - share @ estimates) ** 2, weights=share)
    chance = estimates * (1 - estimates) if binary else np.full(len(share), weight @ residual**2)
    own = max(spread, share @ chance) * (share @ share)
    if not learned > 0:
        return float(np.sqrt(own))
    kurtosis = rows * float(squares @ squares) / learned**2
    freedom = freedom_of(kurtosis, rows, 4.0) * ((learned + own) / learned) ** 2
    return float(np.sqrt(learned + own) * stdtrit(freedom, 0.975) / ndtri(0.975))
