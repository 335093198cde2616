"""Importance weights of Smith & Elkan (2007), the way from a study's rows to capped weights, and
how good these are."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError
from counterweight.fragments import Choice
from counterweight.numerics.linear import averaged, row_blocks
from counterweight.plan.components import load
from counterweight.tables.parquet import joined, read_columns, write_table
from counterweight.tables.study_data import by_repeat, generator

#: The population that each weighting makes the labeled rows stand for.
TARGET_BY_NAME = {"lemma1": "general", "lemma2": "unlabeled"}
LABEL_BY_NAME = {"lemma1": "Lemma 1", "lemma2": "Lemma 2"}
#: What answers rest on: how the first sentence begins, and what is to be known of it. Weightings
#: for tables with blank outcomes declare it as ``ASSUMES``; options stand in it by their names, see
#: `counterweight.plan.components`.
AT_RANDOM = (
    "If labels are missing at random",
    "Labels are taken to be missing at random: rows without an outcome are taken to turn out as "
    "rows with the same features that have one. Nothing in the table can show that they do.",
)
ASSUMES = AT_RANDOM


def general_weights(p: ArrayLike, share: float) -> np.ndarray:
    """Lemma 1: labeled rows weighted to stand for the general population.

    Under labels missing at random, p(x, y) = p(s=1) / p(s=1 | x) p(x, y | s=1), so
    w = share / p. When the labels are not missing at random the weighted sample has
    the right p(x) and still the wrong p(y | x).

    Parameters
    ----------
    p : array, shape (M,)
        Calibrated p(s = 1 | x) of the labeled rows, in (0, 1].
    share : float
        p(s = 1) = M / (M + N), in (0, 1).

    Returns
    -------
    numpy.ndarray, shape (M,)
        Not capped; the mean is 1 in expectation.

    Raises
    ------
    CounterweightError
        When a p is not in (0, 1] or the share not in (0, 1).

    Smith & Elkan (2007), Lemma 1.
    """
    p = _checked(p, share)
    return share / p


def unlabeled_weights(p: ArrayLike, share: float) -> np.ndarray:
    """Lemma 2: labeled rows weighted to stand for the unlabeled population.

    Under labels missing at random, p(x, y | s=0) = share / (1 - share) (1 - p) / p
    p(x, y | s=1), so w = share / (1 - share) (1/p - 1).

    Parameters
    ----------
    p : array, shape (M,)
    share : float
        As in `general_weights`.

    Returns
    -------
    numpy.ndarray, shape (M,)
        Not capped; 0 where p is 1, since such rows have no unlabeled counterpart.

    Raises
    ------
    CounterweightError
        When a p is not in (0, 1], all are 1, or the share is not in (0, 1).

    Smith & Elkan (2007), Lemma 2.
    """
    p = _checked(p, share)
    if (p == 1).all():
        raise CounterweightError(
            f"All {p.size} labeled rows have selection probability 1, so none looks like an "
            "unlabeled row and Lemma 2 has no weights: drop the feature that decides the labeling."
        )
    return share / (1 - share) * (1 / p - 1)


def _checked(p, share):
    p = np.asarray(p, dtype=float)
    if not 0 < share < 1:
        raise CounterweightError(
            f"The labeled share is {share}; it must lie between 0 and 1: both labeled and "
            "unlabeled rows are needed."
        )
    if p.size == 0:
        raise CounterweightError("There are no labeled rows to weight: check the labeling rule.")
    if p.ndim != 1:
        raise CounterweightError(
            f"Selection probabilities come as one column, one for each labeled row, not {p.shape}."
        )
    with np.errstate(divide="ignore", over="ignore"):
        bad = ~((p > 0) & (p <= 1) & np.isfinite(1 / p))
    if bad.any():
        first = int(np.flatnonzero(bad)[0])
        raise CounterweightError(
            f"{int(bad.sum())} of {p.size} labeled rows have a selection probability outside "
            f"(0, 1] (first: row {first}, p = {float(p[first])!r}): a labeled row cannot have "
            "probability 0; calibrate the selection model, or choose another selector."
        )
    return p


#: Option of weightings that can make the labeled rows stand for either population.
TARGET_OPTION = {
    "target": Choice("general", ["general", "unlabeled"], "Whom the weighted rows stand for: all training rows, or the unlabeled."),
}  # fmt: skip
#: The populations in print, in labels of weightings that have the option.
TARGET_LABELS = {"target": {"general": "everybody", "unlabeled": "the unlabeled"}}


@dataclass
class Rows:
    """Training rows of one repeat, as a weighting with ``SEES = "rows"`` gets them.

    Attributes
    ----------
    X_labeled : array (M, d)
    y_labeled : array (M,)
        Labels of the labeled rows; numbers where the outcome is one.
    X_unlabeled : array (N, d)
    rng : numpy.random.Generator or None
    p : array (M,) or None
        Calibrated p(s=1|x) of the labeled rows; None where the weighting declares
        ``NEEDS_P = False``.
    names : sequence of str
        Of the d features.
    facts : dict of str to float or (float, float)
        What the weighting found out, for the tables of measurements: it may add to it, numbers
        alone or with their standard errors.
    group : int array (M + N,) or None
        Of labeled, then unlabeled rows, from 0: those of a group may depend on each other.
    """

    X_labeled: np.ndarray
    y_labeled: np.ndarray
    X_unlabeled: np.ndarray
    rng: np.random.Generator | None = None
    p: np.ndarray | None = None
    names: tuple = ()
    facts: dict = field(default_factory=dict)
    group: np.ndarray | None = None

    @classmethod
    def of(cls, data, repeat, target, p=None, rng=None, seen=True):
        """Rows of one repeat of a study (`counterweight.tables.study_data.StudyData`).

        Unless they are to be `seen`, features may be no arrays; see `StudyData.taken`.
        """
        labels = data.labels[repeat]
        masks = [data.role(repeat, name) for name in ("labeled", "unlabeled")]
        take = data.X.__getitem__ if seen else data.taken
        X_labeled, X_unlabeled = (take(data.positions(repeat, mask)) for mask in masks)
        # A study of one target has the labels of that one, which are those of its labeled rows.
        told = f"y_{target}" if f"y_{target}" in labels else None
        told = told or next(name for name in labels if name.startswith("y_"))
        y = labels[told][masks[0]]
        return cls(X_labeled, y, X_unlabeled, rng, p, tuple(data.names))

    @property
    def share(self):
        """Labeled rows as a share of all training rows."""
        return len(self.X_labeled) / (len(self.X_labeled) + len(self.X_unlabeled))

    def population(self, target):
        """Rows of ``general`` (everybody) or ``unlabeled``, (T, d)."""
        if target == "unlabeled":
            return self.X_unlabeled
        return np.concatenate([self.X_labeled, self.X_unlabeled])


def made_weights(component, spec, rows):
    """Weights of labeled rows by a weighting of a study.

    `component` callable: the weighting; `spec` dict: ``sees``, ``options`` and ``max_weight`` of
    the weighting. Returns `raw`, `weights` array (M,): before and after the cap; `capped` int: rows
    whose weight was cut.
    """
    if spec["sees"] == "rows":
        raw = component(rows, **spec["options"])
    else:
        raw = component(rows.p, rows.share, **spec["options"])
    return np.asarray(raw, float), *cap_weights(raw, spec["max_weight"])


def from_odds(odds, share, target):
    """Weights from odds p(s=0|.) / p(s=1|.) of the labeled rows, by the two lemmas.

    Lemma 2 towards the unlabeled; towards everybody Lemma 1, which is share + (1 - share) times it.

    `odds` array (M,); `share` float: labeled rows as a share of all.
    """
    return share / (1 - share) * odds if target == "unlabeled" else share * (1 + odds)


def fact_records(rows):
    """What a weighting found out, as metric records."""
    records = []
    for metric, told in rows.facts.items():
        value, *error = np.atleast_1d(told)
        record = {"metric": metric, "value": float(value), "rows": len(rows.X_labeled)}
        records.append(record | ({"standard_error": float(error[0])} if error else {}))
    return records


def cap_weights(weights: ArrayLike, max_weight: float) -> tuple[np.ndarray, int]:
    """Weights not above `max_weight`, and how many were.

    Parameters
    ----------
    weights : array, shape (M,)
    max_weight : float or None
        None for no cap.

    Returns
    -------
    numpy.ndarray, shape (M,)
    int
        Rows whose weight was cut.
    """
    weights = np.asarray(weights, dtype=float)
    if not np.isfinite(weights).all():
        raise CounterweightError(
            f"{int((~np.isfinite(weights)).sum())} of {weights.size} weights are not finite: check "
            "the selection probabilities."
        )
    if max_weight is None:
        return weights, 0
    if not max_weight > 0:
        raise CounterweightError(f"max_weight is {max_weight}; a cap is a number above 0.")
    return np.minimum(weights, max_weight), int((weights > max_weight).sum())


def effective_sample_size(weights: ArrayLike) -> float:
    """(sum w)^2 / sum w^2: how many unweighted rows would be as informative."""
    weights = np.asarray(weights, dtype=float)
    return float(weights.sum() ** 2 / (weights**2).sum())


def weighted_mean(values, weights):
    """Self-normalised weighted mean and its standard error, by column.

    The error is that of a ratio estimator, sqrt(sum w^2 (v - m)^2) / sum w; it takes
    the weights as given.

    Shapes: values (M, d); weights (M,).
    """
    total, parts = weights.sum(), row_blocks(len(values))
    mean = sum(weights[part] @ values[part] for part in parts) / total
    squares = sum(weights[part] ** 2 @ (values[part] - mean) ** 2 for part in parts)
    return mean, np.sqrt(squares) / total


def describe_weights(raw, weights, X, X_target, names, capped, design=(None, None)):
    """Quality of weights, as metric records.

    `raw` and `weights` (M,) are before and after the cap, at which `capped` rows are; X (M, d) are
    features of the labeled rows, `X_target` (T, d) of training rows of the target population.
    `design` are design weights of the labeled rows (M,), which `weights` have in them, and of the
    target's (T,).

    Balance is (mean of the labeled rows - mean of the target) / target standard deviation, before
    and after weighting; ``balance_z`` the weighted difference over its standard error.
    """
    rows, records = len(weights), describe_sizes(raw, weights, capped)
    own, of_target = design
    center = averaged(X_target, of_target)
    scale = np.sqrt(averaged(X_target, of_target, of=lambda rows: (rows - center) ** 2))
    before = averaged(X, own, of=np.asfortranarray)
    after, error = weighted_mean(X, weights)
    size = len(X_target) if of_target is None else effective_sample_size(of_target)
    noise = np.sqrt(error**2 + scale**2 / size)
    scale = np.where(scale > 0, scale, 1.0)
    for k, name in enumerate(names):
        for metric, value in (
            ("balance_before", (before[k] - center[k]) / scale[k]),
            ("balance_after", (after[k] - center[k]) / scale[k]),
            ("balance_z", (after[k] - center[k]) / noise[k]),
        ):
            records.append({"metric": metric, "part": name, "value": value, "rows": rows})
    return records


def describe_sizes(raw, weights, capped):
    """How unequal weights are, as metric records; parameters as `describe_weights`."""
    rows = len(weights)
    size = effective_sample_size(weights)
    return [
        {"metric": name, "value": value, "rows": rows}
        for name, value in (
            ("effective_sample_size", size),
            ("effective_share", size / rows),
            ("largest_weight", weights.max()),
            ("largest_uncapped", raw.max()),
            ("rows_capped", capped),
            ("rows_zero", int((weights == 0).sum())),
            ("mean_weight", weights.mean()),
        )
    ]


def weighed(job, data, design=None, least=0):
    """Write the weights of the labeled rows of a job of the stage weigh, by repeat.

    `job`; `data` StudyData; `design` array (n,), optional: design weights of the rows. Weights then
    have mean 1 together with them, as what a model penalises must not depend on their scale.
    `least` int: unlabeled rows below which all weights are 1.
    """
    given, spec = job.given, job.given["weighting"]
    weights_of = load("weighting", spec["weighting"])
    selected = by_repeat(read_columns(job.input.selection)) if job.input.selection else {}
    tables, records, alike = [], [], design is None or not np.ptp(design)
    for repeat in list(data.labels)[: spec["repeats"]]:
        labeled, unlabeled = (data.role(repeat, name) for name in ("labeled", "unlabeled"))
        raw = weights = np.ones(labeled.sum())
        capped, facts = 0, []
        if unlabeled.sum() >= least:
            p = selected[repeat]["p"][labeled] if selected else None
            if p is not None and design is not None:
                # Where isotonic steps reach 0, the weight is at the cap. Where all reach 1, nobody
                # with an outcome is like those without: weights are alike.
                p = np.clip(p, 1e-9, 1.0 if p.min(initial=1.0) < 1 else 1 - 1e-9)
            rng = generator(given["seed"], given["stream"], repeat, f"weigh {spec['weighting']}")
            seen = spec["sees"] == "rows"
            rows = Rows.of(data, repeat, spec["target"], p, rng, seen)
            raw, weights, capped = made_weights(weights_of, spec, rows)
            facts = fact_records(rows)
        if design is not None:
            weights = weights * design[labeled]
            weights = weights / weights.mean()
        job.log.info("repeat %d: %d of %d rows at the cap", repeat, capped, len(weights))
        own = {name: data.labels[repeat][name][labeled] for name in ("repeat", "row")}
        tables.append(own | {"weight": weights})
        target = ~data.role(repeat, "test")
        if spec["target"] == "unlabeled" and unlabeled.any():
            target &= ~labeled
        described = describe_weights(
            raw,
            weights,
            data.taken(data.positions(repeat, labeled)),
            data.taken(data.positions(repeat, target)),
            data.names,
            capped,
            (None, None) if alike else (design[labeled], design[target]),
        )
        described += facts
        records += [{"repeat": repeat, "target": spec["target"]} | record for record in described]
    write_table(job.output.table, joined(tables))
    return records
