"""Which setting of a filter is certified, what held-out rows say of it, and what is published."""

import copy
import logging
from dataclasses import replace

import numpy as np

from counterweight.delivery.saved_filters import ACCEPTED, SavedFilter
from counterweight.errors import CounterweightError, listed
from counterweight.models.filters.balanced_filter import filtered
from counterweight.models.filters.candidates import traced_encoder
from counterweight.numerics.estimate import ratio_mean
from counterweight.numerics.filters import disclosure, drawn_parts, part_counts
from counterweight.numerics.geometry import distorted, interpolated_rows, realised
from counterweight.numerics.groups import (
    block_starts,
    group_names,
    imbalance,
    leaf_table,
    memberships,
    target_shares,
)
from counterweight.plan.components import load
from counterweight.selection.proxies import split_rules
from counterweight.tables.parquet import numbers_of
from counterweight.tables.saved_form import versions
from counterweight.tables.study_data import StudyData

# Make the filter that a study gives away: at one setting, with what held-out rows tell of it.
# References
# ----------
# Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies.

log = logging.getLogger("counterweight")

#: Metrics of the method that go with its filter.
MEASURES = (
    *("acceptance_rate", "disclosivity", "disclosivity_rows", "distorted"),
    *("floor", "imbalance"),
)
#: Prefix of the group columns of the labels.
PREFIX = "group_"
#: A released column of more values than this is measured in bins of at least so many rows.
VALUES, BIN = 20, 50
#: A filter that takes away less of the imbalance than this share is of no use.
USEFUL = 0.05
#: Groups this near to the target need no filter.
EVEN = 0.005


def only_setting(proxy, setting):
    """A proxy restricted to one of its settings, so that nothing else is given away.

    Parameters
    ----------
    proxy : fitted proxy
        One of several settings is a `SplitTreeProxy`.
    setting : str
        Ignored for a proxy of one setting.

    Raises
    ------
    CounterweightError
        When the proxy has no such setting.
    """
    if list(proxy.settings_) == [""]:
        return proxy
    if setting not in proxy.settings_:
        raise CounterweightError(
            f"The proxy has no setting {setting!r}; choose one of {listed(proxy.settings_, 30)} as "
            "filter.setting."
        )
    at = list(proxy.settings_).index(setting)
    one = copy.copy(proxy)
    for name in ("alphas", "settings_", "mass_", "shares_", "distance_"):
        setattr(one, name, [getattr(proxy, name)[at]])
    one.splits_, one.trees_ = split_rules.pruned(proxy.splits_, [proxy.trees_[at]])
    return one


def saved_filter(
    frame, features, labels, arrays, weights, metrics, *, selector, recipe, outcome, target, facts
):
    """The filter of one method at one setting and repeat, from the tables of its study.

    Parameters
    ----------
    frame : pandas.DataFrame
        Prepared rows.
    features, labels, weights, metrics : dict of str to array
        Tables of the study; `weights` and `metrics` are those of the method.
    arrays : dict of str to array
        The fitted proxy of that repeat, all settings.
    selector : str
        Registry name of the proxy.
    recipe : mapping
        ``name`` and ``options`` of the features.
    outcome : str or None
        Outcome column, which is no feature.
    target : mapping of str to float, or None
    facts : mapping
        ``study, title, method, setting, repeat, id, key``.

    Raises
    ------
    CounterweightError
        When the setting does not exist, or the features cannot be made for new rows.
    """
    data, repeat, setting = StudyData(features, labels), facts["repeat"], facts["setting"]
    encoder = traced_encoder(data, frame, recipe, outcome)
    noise = numbers_of(setting).get("eta")
    proxy = load("selector", selector).from_arrays(arrays, data.names)
    one = only_setting(proxy, setting)
    rho = _chosen(weights, repeat, setting)
    part, train = data.labels[repeat], data.role(repeat, "train")
    columns = [name for name in part if name.startswith(PREFIX)]
    classes = [name.removeprefix(PREFIX) for name in columns]
    words = [part[name][train] for name in columns]
    names, groups = group_names(words, classes)
    sizes = [len(block) for block in names]
    Z = memberships(words, names)
    saved = SavedFilter(
        facts=dict(facts)
        | {"selector": selector, "eta": 0.0 if noise is None else noise, "rows": len(Z)}
        | versions(),
        encoder=encoder,
        arrays=one.to_arrays(),
        groups=groups,
        classes=np.repeat(classes, sizes).tolist(),
        base=Z.mean(axis=0),
        target=target_shares(target, groups, sizes),
        mass=np.zeros(len(rho)),
        acceptance=rho,
        shares=np.zeros((len(rho), len(groups))),
    )
    X = data.X[data.positions(repeat, train)]
    saved.mass, saved.shares = leaf_table(saved.memberships(X), Z)
    saved.facts["digest"] = saved.digest()
    saved.measures = _measures(metrics, repeat, setting, groups, saved.target)
    return saved


def _chosen(weights, repeat, setting):
    """Acceptance of the leaves at one setting of one repeat."""
    own = weights["repeat"] == repeat
    at = own & (weights["setting"] == setting)
    if not at.any():
        known = list(dict.fromkeys(weights["setting"][own]))
        raise CounterweightError(
            f"filter.setting is {setting!r}, which the method does not have in repeat {repeat}; "
            f"choose one of {listed(known, 30)}."
        )
    return weights["acceptance"][at][np.argsort(weights["leaf"][at], kind="stable")]


def _measures(metrics, repeat, setting, groups, target):
    """What was measured of the filter, on training and test rows."""
    measured, shares = {}, {}
    own = (metrics["repeat"] == repeat) & (metrics["setting"] == setting)
    for at in np.flatnonzero(own):
        name, of, group = (str(metrics[key][at]) for key in ("metric", "target", "part"))
        value = float(metrics["value"][at])
        if not group and name in MEASURES:
            measured[name, of] = value
        elif name in ("group_share", "group_gain"):
            shares[name, of, group] = value
    for of in ("train", "test"):
        pairs = [
            (shares.get(("group_share", of, group)), shares.get(("group_gain", of, group)))
            for group in groups
        ]
        if all(share is not None and gain for share, gain in pairs):
            base = np.array([share / gain for share, gain in pairs])
            measured["imbalance_before", of] = float(np.linalg.norm(base - target))
    return measured


def describe_held_out(saved, frame, Z, rng, level):
    """What rows that did not fit a filter tell of it; kept as ``saved.held``.

    For each row the leaf and the acceptance are drawn. Then ``disclosivity`` of the leaves, of
    each released column (with ``accepted`` alone as the first), and of all of them together
    has a value on these rows and an upper confidence bound; ``share_before``,
    ``share_after`` and ``acceptance_rate`` have intervals, ``imbalance_before``, ``imbalance``
    and ``distorted`` (of the group where it is largest) values.

    Parameters
    ----------
    saved : SavedFilter
    frame : pandas.DataFrame
        Prepared rows.
    Z : array (n, K)
        Their memberships.
    rng : numpy.random.Generator
    level : float
        Confidence of each bound and interval.
    """
    classes = [saved.classes.count(name) for name in dict.fromkeys(saved.classes)]
    member = saved.memberships(saved.encoder.transform(frame))
    leaf = drawn_parts(member, rng.random(len(Z)))
    accepted = rng.random(len(Z)) < saved.acceptance[leaf]
    p = np.minimum(member @ saved.acceptance, 1.0)
    held, own = {}, {ACCEPTED: accepted.astype(int), "leaf": leaf, "probability": p}

    def bounded(name, parts, number, i=-1):
        found = disclosure(part_counts(parts, Z, number), classes, level)
        held[name, "value", i], held[name, "bound", i] = found.value, found.bound

    bounded("disclosivity", leaf, len(saved.mass))
    joint = np.zeros(len(Z), int)
    for i, name in enumerate(saved.release):
        parts = _parts(own[name] if name in own else frame[name])
        bounded("released", parts, parts.max() + 1, i)
        joint = np.unique(joint * (parts.max() + 1) + parts, return_inverse=True)[1]
    bounded("released", joint, joint.max() + 1)

    def told(name, estimate, i=-1):
        for kind in ("value", "low", "high"):
            held[name, kind, i] = getattr(estimate, kind)

    told("acceptance_rate", ratio_mean(p, level=level, bounds=(0, 1)))
    for k, own in enumerate(Z.T):
        told("share_before", ratio_mean(own, level=level, bounds=(0, 1)), k)
        if p.any():
            told("share_after", ratio_mean(own, p, level=level, bounds=(0, 1)), k)
    held["imbalance_before", "value", -1] = imbalance(Z.mean(axis=0), saved.target)
    if p.any():
        held["imbalance", "value", -1] = imbalance(p @ Z / p.sum(), saved.target)
        mass, shares = leaf_table(member, Z)
        held["distorted", "value", -1] = np.nanmax(distorted(saved.acceptance * mass, mass, shares))
    held["rows", "value", -1], held["level", "value", -1] = len(Z), level
    saved.held = held


def check_useful(saved):
    """Refuse a filter that accepts everybody alike, though the groups are not as wanted.

    Parameters
    ----------
    saved : SavedFilter

    Raises
    ------
    CounterweightError
    """
    left = imbalance(saved.base, saved.target)
    if np.ptp(saved.acceptance[saved.mass > 0]) == 0 and left > EVEN:
        raise CounterweightError(
            f"The filter of the study {saved.facts['study']} would accept everybody alike: no "
            f"split of the {saved.facts['rows']} rows that it was fitted on brings the groups "
            f"nearer to the target (now off by {left:.3f}) within "
            f"{saved.facts['setting'] or 'its only setting'} and with leaves as large as asked. "
            "Nothing is given away: bring more rows or columns, allow a larger alpha, or take "
            "smaller leaves (min_samples_leaf, smallest_leaf)."
        )


def refitted(saved, X, Z, classes, given, rng):
    """A filter fitted again on all rows, held-out ones included; no row is left to certify it.

    Parameters
    ----------
    saved : SavedFilter
    X : array (n, d)
        All rows of the split.
    Z : array (n, K)
    classes : sequence of int
    given : dict
        ``selector``, ``weighting`` with their options.
    rng : numpy.random.Generator

    Returns
    -------
    SavedFilter
        Without figures of held-out rows, and without measures of training and test rows.
    """
    selector, weighting = given["selector"], given["weighting"]
    proxy = load("selector", selector["selector"])(**selector["options"])
    proxy.fit(X, Z, classes=classes, target=saved.target, rng=rng)
    one, made = only_setting(proxy, saved.facts["setting"]), None
    for name, member in one.leaves(X):
        table = leaf_table(member, Z)
        options = weighting["options"] | {"etas": () if name else (saved.facts["eta"],)}
        (made,) = load("weighting", weighting["weighting"])(*table, saved.target, **options)
    again = replace(
        saved,
        facts=saved.facts | {"rows": len(Z), "refitted": 1},
        arrays=one.to_arrays(),
        base=Z.mean(axis=0),
        mass=made.mass,
        acceptance=made.rho,
        shares=made.shares,
        measures={},
    )
    again.facts["digest"] = again.digest()
    return again


def _parts(values):
    """Parts of the rows by a released column, from 0; many values in bins of enough rows."""
    import pandas as pd

    codes, distinct = pd.factorize(pd.Series(values), sort=True, use_na_sentinel=False)
    if len(distinct) <= VALUES:
        return codes
    bins = max(1, min(VALUES, len(codes) // BIN))
    # Codes are in order, so bins of codes are bins of values; equal values stay together.
    ranks = np.searchsorted(np.sort(codes), codes)
    return pd.factorize(ranks * bins // len(codes), sort=True)[0]


def certified_setting(candidates, X, Z, *, target, classes, alpha, level, rng):
    """The method and setting to give away, such that with confidence no leaf tells more than alpha.

    The rows are those that did not fit the proxies. Candidates may differ in the size of their
    leaves, or in anything. By one half of the rows all their settings are put in
    order, from the one that tells least; those that reach alpha there and balance better than
    all before them are candidates. The other half tests them in this order, each at the full
    level, and stops at the first that fails: so the chance that any one is certified wrongly is
    at most 1 - level (a fixed sequence of tests). The last that passed is the choice.

    Parameters
    ----------
    candidates : mapping of str to (fitted proxy, mapping of str to array (L,))
        By method, with the acceptance by setting.
    X : array (n, d)
    Z : array (n, K)
    target : array (K,)
    classes : sequence of int
    alpha, level : float
    rng : numpy.random.Generator

    Returns
    -------
    method, setting : str
    certifying : bool array (n,)
        The rows of the test, which chose nothing.
    found : Disclosure
        Of that setting on them.

    Raises
    ------
    CounterweightError
        When no setting that balances anything is certified; says what came nearest.
    """
    certifying = rng.random(len(Z)) < 0.5
    draws = rng.random(len(Z))
    tried = []
    every = (
        (name, *one)
        for name, (proxy, acceptance) in candidates.items()
        for one in filtered(proxy, X, acceptance)
    )
    for name, setting, M, eta, rho in every:
        member = interpolated_rows(M, eta)
        leaf = drawn_parts(member, draws)
        halves = [
            disclosure(part_counts(leaf[half], Z[half], len(rho)), classes, level)
            for half in (~certifying, certifying)
        ]
        mass, shares = leaf_table(member[~certifying], Z[~certifying])
        left = imbalance(realised(rho, mass, shares), target)
        if np.isfinite(left):
            tried.append((halves[0].bound, left, name, setting, halves[1]))
    start = imbalance(Z[~certifying].mean(axis=0), target)
    chosen, best, reached = None, start * (1 - USEFUL), None
    for bound, left, name, setting, found in sorted(tried, key=lambda one: one[:2]):
        if left >= best:
            continue
        reached = reached or (setting, min(bound, found.bound))
        if bound > alpha or found.bound > alpha:
            break
        chosen, best = (name, setting, certifying, found), left
    if chosen is None:
        near = (
            f"the most careful setting that balances anything, {reached[0]}, may tell up to "
            f"{reached[1]:.3f}"
            if reached
            else "no setting balances anything on rows that did not fit it"
        )
        raise CounterweightError(
            f"No filter of this study is certified at alpha {alpha:g} with confidence {level:g} on "
            f"{len(Z)} held-out rows: {near}. Nothing is given away: allow a larger alpha, take "
            "larger leaves or more rows, or leave certified out for a filter without a promise "
            "for new people."
        )
    return chosen


# Shares of groups that a filter is published with: noise with a stated epsilon, a least cell.
# The file and the card of a filter tell the shares of the groups among all and in each leaf of the
# rows that it was fitted on. Both steps are about these shares alone. The tree and its chances
# of acceptance were fitted to the groups without noise, and the bounds of what the filter tells are
# measured without it: epsilon is no promise about them.
#
# References
# ----------
# Dwork, McSherry, Nissim & Smith (2006), Calibrating noise to sensitivity in private data analysis.

#: What held-out rows tell of the groups' shares without noise.
_SHARES = ("share_before", "share_after")


def published(saved, rng, *, epsilon=None, least_cell=0):
    """A filter with the shares of groups that may be told.

    Parameters
    ----------
    saved : counterweight.delivery.saved_filters.SavedFilter
    rng : numpy.random.Generator
    epsilon : float, optional
        Shares are of counts with Laplace noise (see `noisy_counts`). Shares of held-out rows, which
        have none, are left out.
    least_cell : float
        Leaves in which some group has fewer rows, and groups with fewer in all, are told without
        shares (NaN); never one alone, as the others would tell it (see `withheld`).

    Returns
    -------
    SavedFilter
    """
    rows = saved.facts["rows"]
    classes = [saved.classes.count(name) for name in dict.fromkeys(saved.classes)]
    counts, told, held = rows * saved.mass[:, None] * saved.shares, {}, dict(saved.held)
    shares, base = saved.shares, saved.base
    if epsilon is not None:
        counts = noisy_counts(counts, classes, epsilon, rng)
        shares, base = shares_of(counts, classes), shares_of(counts.sum(axis=0)[None], classes)[0]
        held = {key: value for key, value in held.items() if key[0] not in _SHARES}
        told["epsilon"] = float(epsilon)
    if least_cell:
        leaves = withheld(counts.min(axis=1), least_cell)
        groups = np.concatenate(
            [withheld(part, least_cell) for part in np.split(counts.sum(axis=0), _edges(classes))]
        )
        shares = np.where(leaves[:, None] | groups, np.nan, shares)
        base = np.where(groups, np.nan, base)
        held = {key: v for key, v in held.items() if key[0] not in _SHARES or not groups[key[2]]}
        told["least_cell"] = float(least_cell)
    return replace(saved, facts=saved.facts | told, shares=shares, base=base, held=held)


def _edges(classes):
    return block_starts(classes)[1:]


def noisy_counts(counts, classes, epsilon, rng):
    """Counts with Laplace noise, none below 0.

    One person more or less moves the counts of each class by 1 in all (a row that a leaf is
    drawn for counts in several by parts), so the noise has the scale len(classes) / epsilon: the
    table of counts is epsilon-differentially private with respect to one person, whatever is
    made of it.

    Parameters
    ----------
    counts : array (L, K)
    classes : sequence of int
    epsilon : float
        Above 0.
    rng : numpy.random.Generator

    Returns
    -------
    array (L, K)
    """
    noise = rng.laplace(scale=len(classes) / epsilon, size=counts.shape)
    return np.maximum(counts + noise, 0.0)


def shares_of(counts, classes):
    """Shares of the groups within each class, (L, K); 0 where a row has no count."""
    parts = []
    for part in np.split(counts, _edges(classes), axis=1):
        total = part.sum(axis=1, keepdims=True)
        parts.append(np.divide(part, total, out=np.zeros_like(part), where=total > 0))
    return np.hstack(parts)


def withheld(counts, least):
    """Which counts are below a limit; where it is one alone, the next smallest with it."""
    few = counts < least
    if few.sum() == 1 and len(counts) > 1:
        few[np.argsort(counts, kind="stable")[1]] = True
    return few
