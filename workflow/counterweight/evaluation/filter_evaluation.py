"""Protocol: what a filter discloses, and how balanced the sample is that it collects.

With it the accuracy, over all and by group, of classifiers trained on whom a filter accepts.

Records by ``target`` (train or test) and ``setting``:

- ``disclosivity``: max |A_jk - r_k| over leaves that hold rows; ``disclosivity_rows``:
  expected rows of the leaf that attains it; ``disclosivity_large``: the same over
  leaves with at least `large_leaf` expected rows (absent where there is none), since
  in a leaf of few rows the shares are mostly noise; ``leaves``; ``leaves_empty``:
  those without any row of this part, which no measure sees.
- ``imbalance``: distance of the accepted rows' groups from the target, in expectation;
  ``imbalance_drawn``: of one seeded draw, with the standard error of such
  draws given the rows (see `drawn_spread`); ``floor``: least imbalance that any
  filter of this alpha could reach (of this disclosivity on the training rows, for
  settings without an alpha); ``acceptance_rate``, ``collected`` (expected rows).
- ``group_share``, ``group_gain`` (share over base share); the part is the group.
- ``distorted``: how far the accepted of a group are from the group, over the leaves (see
  `counterweight.numerics.geometry`), of the group where it is largest.
- repeat 0, training rows: ``leaf_mass``, ``leaf_acceptance`` and, by group (the
  variable), ``leaf_share``; the part is the leaf.
- test rows: ``disclosivity_at_most``, an upper confidence bound of the disclosivity in
  the population from one drawn leaf for each row (see
  `counterweight.numerics.groups`); in repeat 0 ``distortion`` of each group
  (the part; see `distortions`).
- test rows: ``bound_disclosivity``, ``bound_imbalance``, ``bound_epsilon``
  (`theorem_bound`), ``excess_disclosivity``, ``excess_imbalance`` (test less train).
- of the classifiers: see `classifier_records`; ``imbalance_taught`` of those that see
  the groups, of the rows (and weights) that they learned from.
- ``nothing_accepted``: 1 where no row of a part can be accepted; its imbalance is then
  not defined and absent.

References
----------
Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies: Definitions 4
and 5, Theorem 3, section 5 and appendix A.2.
"""

from typing import NamedTuple

import numpy as np

from counterweight.fragments import Number
from counterweight.models.balanced_filter import (
    accept_probability,
    filtered,
    grouped_rows,
    proxy_rows,
    row_uniforms,
)
from counterweight.numerics.geometry import distorted, imbalance_floor, interpolated_rows
from counterweight.numerics.groups import (
    disclosure,
    drawn_parts,
    imbalance,
    part_counts,
    target_shares,
)
from counterweight.tables.parquet import by_setting, numbers_of
from counterweight.tables.study_data import generator

TASK = "filter"
OPTIONS = {
    "delta": Number(0.05, "Probability with which the bound of Theorem 3 may fail.", above=0, below=1),
    "gamma": Number(0.1, "Share by which a split shrinks the distance in Theorem 3.", above=0, below=1),
    "stop": Number(0.1, "Imbalance below which Theorem 3 counts no further splits.", above=0),
    "large_leaf": Number(30, "Expected rows of a part from which a leaf counts as large.", minimum=1),
    "level": Number(0.95, "Confidence of the upper bound of disclosivity from test rows.", above=0, below=1),
}  # fmt: skip
LABEL = "balance and disclosure on new rows"


class Rows(NamedTuple):
    """Rows of one repeat, those of training first.

    `X` (n, d), memberships `Z` (n, K), uniform numbers (n,) below which a row is accepted, the
    target `U` (K,), names of the groups, sizes of the classes, how many rows train, and the numbers
    (m,) that the leaves of test rows are drawn by.
    """

    X: np.ndarray
    Z: np.ndarray
    uniform: np.ndarray
    U: np.ndarray
    titles: list
    classes: list
    cut: int
    draws: np.ndarray

    @property
    def parts(self):
        """Places of the rows by part."""
        return {"train": slice(0, self.cut), "test": slice(self.cut, len(self.Z))}


def evaluate_filter(
    data,
    proxies,
    acceptance,
    models,
    predictions,
    *,
    target=None,
    seed=0,
    stream="",
    repeats=None,
    delta=0.05,
    gamma=0.1,
    stop=0.1,
    large_leaf=30,
    level=0.95,
):
    """Records of one method in one study.

    Samples are judged as expected over the draw of each row, so that only ``imbalance_drawn``
    and ``rows_accepted`` depend on one. A leaf's shares and the base rates are those of the
    same part: the training rows, or the test rows.

    `data` is a `StudyData` with the truth; ``proxies(repeat)`` gives the fitted proxy; `acceptance`
    is of `acceptances`, `models` of `BalancedFilter.to_arrays` by (repeat, ""), `predictions`
    (``row, setting, p``) by repeat; `target` is the share by group, None for equal ones; `stream`
    names the random streams; `repeats` are all that have a model if None; `delta`, `gamma` and
    `stop` are of `theorem_bound`. The records are those of the module.
    """
    records, theorem = [], {"delta": delta, "gamma": gamma, "stop": stop}
    for repeat in sorted(at for at, _ in models) if repeats is None else repeats:
        told = grouped_rows(data, repeat)
        train, classes, titles = told["train"], told["classes"], told["titles"]
        order = np.concatenate([np.flatnonzero(train), np.flatnonzero(~train)])
        cut = int(train.sum())
        rows = Rows(
            told["X"][order],
            told["Z"][order],
            row_uniforms(seed, stream, repeat, len(train))[order],
            target_shares(target, titles, classes),
            titles,
            classes,
            cut,
            generator(seed, stream, repeat, "leaves").random(len(order) - cut),
        )
        proxy, last, tables, standard, own = proxies(repeat), None, None, None, []
        given = proxy_rows(proxy, rows.X, rows.Z)
        for setting, M, eta, rho in filtered(proxy, given, acceptance[repeat]):
            if M is not last:
                last = M
                tables = {
                    name: (M[part].sum(axis=0), M[part].T @ rows.Z[part])
                    for name, part in rows.parts.items()
                }
            if repeat == 0 and standard is None:
                standard = standardised(rows.X[rows.parts["test"]])
            one = setting, M, eta, rho
            own += _setting_records(rows, one, tables, standard, large_leaf, level, theorem)
        own += classifier_records(
            predictions.get(repeat),
            models[repeat, ""],
            told["row"][~train],
            told["outcome"][~train],
            rows.Z[cut:],
            titles,
        )
        own += [
            {"target": "train", "metric": "imbalance_taught", "setting": setting}
            | {"value": imbalance(np.asarray(made["taught"]), rows.U)}
            for setting, made in by_setting(models[repeat, ""]).items()
            if "taught" in made
        ]
        records += [record | {"repeat": repeat} for record in own]
    return records


def _setting_records(rows, one, tables, standard, large_leaf, level, theorem):
    """Records of one setting on both parts.

    `standard` are the standardised test rows of the first repeat, which has records by leaf, too;
    None of others.
    """
    setting, M, eta, rho = one
    first = standard is not None
    p, alpha, own, seen = accept_probability(M, eta, rho), numbers_of(setting).get("alpha"), [], {}
    for name, part in rows.parts.items():
        leaves = Leaves(*_noisy(*tables[name], eta, rows.Z[part]), rows.Z[part])
        if alpha is None:
            alpha = leaves.disclosivity()[0]
        measured = _part_records(leaves, rho, p[part], rows, part, alpha, large_leaf)
        seen[name] = {record["metric"]: record["value"] for record in measured}
        own += [record | {"setting": setting, "target": name} for record in measured]
        if name == "train":
            held = leaves.rows[leaves.rows > 0]
            if first:
                own += _leaf_records(leaves, rho, rows.titles, setting)
    test = rows.parts["test"]
    place = {"target": "test", "setting": setting, "rows": len(rows.draws)}
    leaf = drawn_parts(interpolated_rows(M[test], eta), rows.draws)
    found = disclosure(part_counts(leaf, rows.Z[test], len(rho)), rows.classes, level)
    own.append(place | {"metric": "disclosivity_at_most", "value": found.bound})
    if first:
        moved = distortions(standard, rows.Z[test], p[test])
        own += [
            place | {"metric": "distortion", "part": title, "value": value}
            for title, value in zip(rows.titles, moved, strict=True)
            if np.isfinite(value)
        ]
    train, test = seen["train"], seen["test"]
    values = {"excess_disclosivity": test["disclosivity"] - train["disclosivity"]}
    if "imbalance" in train:
        sizes = {"features": rows.X.shape[1], "groups": rows.Z.shape[1], "leaves": len(held)}
        bounds = theorem_bound(
            train["disclosivity"], train["imbalance"], smallest=held.min(), **sizes, **theorem
        )
        names = ("bound_disclosivity", "bound_imbalance", "bound_epsilon")
        values |= dict(zip(names, bounds, strict=True))
        if "imbalance" in test:
            values["excess_imbalance"] = test["imbalance"] - train["imbalance"]
    return own + [place | {"metric": name, "value": value} for name, value in values.items()]


def standardised(X):
    """Features minus their means, in standard deviations; those that are flat are left out."""
    spread = X.std(axis=0)
    # Differences from the mean of all rows keep their digits.
    return (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]


def distortions(standard, Z, p):
    """How far the accepted of each group differ from the group, (K,).

    A filter changes who of a group is in the sample, not only how many. The measure is the
    largest difference over the features between the mean of those accepted, with probabilities
    p (n,), and of all of the group, in standard deviations of all rows; `standard` (n, d) is from
    `standardised`. NaN for a group without rows, or of which nobody can be accepted.
    """
    weighed = p[:, None] * Z
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = (weighed.T @ standard) / weighed.sum(axis=0)[:, None]
        gap -= (Z.T @ standard) / Z.sum(axis=0)[:, None]
    return np.abs(gap).max(axis=1, initial=0.0)


def _noisy(rows, counts, eta, Z):
    """Expected rows and groups of each leaf when leaves are replaced with probability eta."""
    if not eta:
        return rows, counts
    share = eta / len(rows)
    return ((1 - eta) * rows + eta * len(Z) / len(rows), (1 - eta) * counts + share * Z.sum(axis=0))


class Leaves:
    """Leaves of a proxy on the rows of one part.

    Expected `rows` (L,) of each leaf, and of each group in it, `counts` (L, K); `Z` (n, K) are the
    memberships of the rows of the part.
    """

    def __init__(self, rows, counts, Z):
        self.rows, self.counts, self.n = rows, counts, len(Z)
        self.r = Z.mean(axis=0)
        held = rows > 0
        self.A = np.where(held[:, None], counts / np.where(held, rows, 1.0)[:, None], self.r)
        self.gap = np.where(held, np.abs(self.A - self.r).max(axis=1), 0.0)

    def disclosivity(self, least=0):
        """Largest |A_jk - r_k| over leaves of at least `least` rows, and rows of that leaf.

        Both are None where no leaf is that large.
        """
        able = (self.rows > 0) & (self.rows >= least)
        if not able.any():
            return None, None
        worst = int(np.argmax(np.where(able, self.gap, -1.0)))
        return float(self.gap[worst]), float(self.rows[worst])

    def accepted(self, rho):
        """Expected number of accepted rows, and their groups' shares (None where no row is)."""
        total = float(rho @ self.rows)
        return total, (rho @ self.counts / total if total > 0 else None)


def drawn_spread(p, Z, share, U):
    """Standard deviation of the imbalance of a draw, given the rows, to first order.

    Row i is accepted with probability p_i on its own. With s the expected shares, u = (s - U) /
    ||s - U|| and D = sum p, a row accepted moves the imbalance by u (z_i - s) / D, so the
    variance is sum p (1 - p) [u (z_i - s)]^2 / D^2. NaN where the shares meet the target:
    there the distance has no slope.
    """
    distance = np.linalg.norm(share - U)
    if not distance > 1e-9:
        return float("nan")
    u = (share - U) / distance
    moves = Z @ u - share @ u
    return float(np.sqrt((p * (1 - p)) @ moves**2) / p.sum())


def _part_records(leaves, rho, p, rows, part, alpha, large_leaf):
    """What a filter discloses and how balanced it is on one part, without place."""
    records, Z = [], rows.Z[part]

    def add(metric, value, part="", error=float("nan"), rows=leaves.n):
        told = {"metric": metric, "value": float(value), "part": part}
        records.append(told | {"standard_error": error, "rows": rows})

    worst, held = leaves.disclosivity()
    add("disclosivity", worst)
    add("disclosivity_rows", held)
    large, _ = leaves.disclosivity(large_leaf)
    if large is not None:
        add("disclosivity_large", large)
    add("leaves", len(leaves.rows))
    add("leaves_empty", (leaves.rows <= 0).sum())
    add("floor", imbalance_floor(leaves.r, rows.U, alpha, rows.classes))
    total, share = leaves.accepted(rho)
    add("acceptance_rate", total / leaves.n)
    add("collected", total)
    if share is None:
        add("nothing_accepted", 1)
        return records
    add("imbalance", imbalance(share, rows.U))
    add("distorted", np.nanmax(distorted(rho * leaves.rows, leaves.rows, leaves.A)))
    drawn = rows.uniform[part] < p
    if drawn.any():
        spread, count = drawn_spread(p, Z, share, rows.U), int(drawn.sum())
        of = imbalance(Z[drawn].mean(axis=0), rows.U)
        add("imbalance_drawn", of, error=spread, rows=count)
    for title, accepted, base in zip(rows.titles, share, leaves.r, strict=True):
        add("group_share", accepted, title)
        if base > 0:
            add("group_gain", accepted / base, title)
    return records


def _leaf_records(leaves, rho, titles, setting):
    place, records = {"target": "train", "setting": setting, "rows": leaves.n}, []
    for j, (row, A, accept) in enumerate(zip(leaves.rows, leaves.A, rho, strict=True)):
        leaf = place | {"part": str(j)}
        records += [
            leaf | {"metric": "leaf_mass", "value": row / leaves.n},
            leaf | {"metric": "leaf_acceptance", "value": accept},
        ]
        records += [
            leaf | {"metric": "leaf_share", "variable": title, "value": share}
            for title, share in zip(titles, A, strict=True)
        ]
    return records


def theorem_bound(
    alpha, beta, *, smallest, leaves, features, groups, delta=0.05, gamma=0.1, stop=0.1
):
    """Theorem 3: disclosivity, imbalance and eps out of sample, with probability 1 - delta.

    An (alpha, beta)-proxy in sample, as measured on the training rows, is an (alpha + 2 eps, beta +
    k eps sqrt(s))-proxy out of sample if each leaf has at least ln(8 d k s / delta) / (2 eps^2)
    rows (`smallest`); this is solved for eps. k are `groups`. The theorem leaves two things open,
    which are read so:

    - s = (ln beta - ln sqrt 2) / ln(1 - gamma) bounds the number of splits. It goes to infinity
      with beta -> 0, and an (alpha, beta)-proxy is one for every larger beta too: s is taken at
      max(beta, `stop`). It holds when each split shrinks the distance by the share gamma, which
      need not be so: s is at least the number of splits made, and at least 1.
    - d, the VC dimension of the proxies: features + 1 for each split into half-spaces. It
      stands in a logarithm.

    The rows of a leaf are expected ones (randomised splits). The bound is vacuous above 1, for
    disclosivity, and above sqrt 2, for the imbalance of one class of groups; the second is so
    in nearly every application, as eps is multiplied by k sqrt(s).
    """
    s = np.log(max(beta, stop) / np.sqrt(2)) / np.log1p(-gamma)
    s = max(s, leaves - 1, 1.0)
    d = (features + 1) * max(leaves - 1, 1)
    eps = float(np.sqrt(np.log(8 * d * groups * s / delta) / (2 * smallest)))
    return alpha + 2 * eps, beta + groups * eps * float(np.sqrt(s)), eps


def classifier_records(predictions, arrays, rows, outcome, Z, titles):
    """Records of the classifiers of one method in one repeat.

    `predictions` (``row, setting, p`` of the test rows) may be None; `arrays` are of
    `BalancedFilter.to_arrays`; `rows`, `outcome` (NaN where there is none, not counted) and
    memberships `Z` are of the test rows, `titles` names the groups.

    Test rows: ``accuracy`` (a row is predicted 1 where p > 1/2), ``accuracy_group`` (the part is
    the group), each with its standard error; ``accuracy_worst``, the least of them;
    ``groups_untested`` where a group has no test row with an outcome. Of the training rows:
    ``rows_accepted`` and, where they allow no classifier, ``no_classifier``.
    """
    records = [
        {"target": "train", "metric": name, "setting": setting, "value": float(own[name])}
        for name in ("rows_accepted", "no_classifier")
        for setting, own in by_setting(arrays).items()
        if name in own
    ]
    known = ~np.isnan(outcome)
    if predictions is None or not known.any():
        return records
    settings = np.asarray(predictions["setting"])
    counts = Z[known].sum(axis=0)

    def accuracy(metric, share, count):
        error = np.sqrt(share * (1 - share) / count)
        return {"metric": metric, "value": share, "rows": int(count), "standard_error": error}

    for setting in dict.fromkeys(settings.tolist()):
        mine = settings == setting
        order = np.argsort(predictions["row"][mine], kind="stable")
        at = order[np.searchsorted(predictions["row"][mine][order], rows[known])]
        right = ((predictions["p"][mine][at] > 0.5) == (outcome[known] > 0.5)).astype(float)
        place = {"target": "test", "setting": setting, "rows": len(right)}
        records.append(place | accuracy("accuracy", right.mean(), len(right)))
        shares = right @ Z[known] / np.where(counts > 0, counts, 1)
        records += [
            place | {"part": title} | accuracy("accuracy_group", share, count)
            for title, share, count in zip(titles, shares, counts, strict=True)
            if count > 0
        ]
        records.append(place | {"metric": "accuracy_worst", "value": shares[counts > 0].min()})
        if (counts == 0).any():
            records.append(place | {"metric": "groups_untested", "value": (counts == 0).sum()})
    return records
