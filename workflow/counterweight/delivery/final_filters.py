"""The filter that a study delivers: certified or chosen on rows that did not fit it, or refitted.

References
----------
Angelopoulos, Bates, Candes, Jordan & Lei (2021), Learn then test: calibrating predictive
algorithms to achieve risk control.
Deng, Diana, Kearns & Roth (2023), Balanced Filtering via Non-Disclosive Proxies.
Dwork, McSherry, Nissim & Smith (2006), Calibrating noise to sensitivity in private data analysis.
"""

import copy
import hmac
from dataclasses import replace

import numpy as np
import pandas as pd

from counterweight.delivery.saved_filters import ACCEPTED, DECIDED, SavedFilter, ranges_of
from counterweight.delivery.saved_models import traced_encoder
from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import forms_of, types_of
from counterweight.labeling.split import feature_frame
from counterweight.models.balanced_filter import acceptances, filtered, grouped_rows
from counterweight.numerics.estimate import ratio_mean
from counterweight.numerics.geometry import distorted, interpolated_rows, realised
from counterweight.numerics.groups import (
    balance_change,
    block_starts,
    disclosure,
    drawn_parts,
    group_names,
    imbalance,
    leaf_table,
    memberships,
    part_counts,
    target_shares,
)
from counterweight.plan.components import load
from counterweight.selection import split_growth
from counterweight.tables.parquet import numbers_of, read_columns, read_models, read_table
from counterweight.tables.saved_form import versions
from counterweight.tables.study_data import StudyData, generator

#: Tables of a method that may be delivered.
TABLES = ("proxy", "weights", "metrics")
#: Confidence of what a card tells of a filter that is not certified.
LEVEL = 0.95
#: Metrics of the method that go with its filter.
MEASURES = (
    *("acceptance_rate", "disclosivity", "disclosivity_rows", "distorted"),
    *("floor", "imbalance"),
)
#: A released column of more values than this is measured in bins of at least so many rows.
VALUES, BIN = 20, 50
#: A filter that takes away less of the imbalance than this share is of no use.
USEFUL = 0.05
#: How a filter without a promise for new people is asked for.
UNPROMISED = "(certified: false; in a study chosen in place of certified)"
#: Groups this near to the target need no filter.
EVEN = 0.005
#: Ends of an interval: behind the name of a metric, and as kinds of what held-out rows tell.
_ENDS = {"": "value", "_low": "low", "_high": "high"}
#: What held-out rows tell of the groups' shares without noise.
_SHARES = ("share_before", "share_after")


def final_filter(job, frame, key):
    """The `SavedFilter` of a study; ``held`` is from the rows that did not fit it.

    Refused where it is to be certified and cannot be, or would accept everybody alike. A filter
    that is fitted again on all rows has no ``held``. `job` is of the stage deliver, `frame` the
    prepared table, `key` a `Key`.
    """
    given, told = job.given, job.given["filter"]
    repeat, certified, method = told["repeat"], told["certified"], told["method"]
    labels, features = read_columns(job.input.labels), read_columns(job.input.features)
    data = StudyData(features, labels, truth=read_columns(job.input.truth))
    rows = grouped_rows(data, repeat)
    Z, classes = rows["Z"], rows["classes"]
    held, level, tests = np.flatnonzero(~rows["train"]), LEVEL, 1
    rng = generator(given["seed"], given["stream"], repeat, "certify")
    parts = _candidates(job)
    facts = {name: given[name] for name in ("study", "title")}
    facts |= {"repeat": repeat, "id": given["person"], "key": key.digest}
    if limited := certified or told["chosen"]:
        level = limited.get("level", LEVEL)
        candidates = {
            name: (
                load("selector", one["selector"]).from_arrays(one["arrays"], data.names),
                acceptances(one["weights"])[repeat],
            )
            for name, one in parts.items()
        }
        asked = {
            "target": target_shares(given["target"], rows["titles"], classes),
            "classes": classes,
        }
        asked |= {"alpha": limited["alpha"], "level": level, "rng": rng}
        check_split(candidates, Z[rows["train"]], len(rows["train"]), told, asked["target"])
        choose = certified_setting if certified else chosen_setting
        method, setting, tests = choose(candidates, rows["X"][held], Z[held], **asked)
        facts |= {"setting": setting, "level": level}
        facts["alpha" if certified else "chosen"] = limited["alpha"]
    else:
        facts["setting"] = told["setting"]
    if given["max_distortion"][method] < 1:
        facts["max_distortion"] = given["max_distortion"][method]
    report = read_table(job.input.columns) if job.input.columns else None
    saved = saved_filter(
        feature_frame(frame, report),
        features,
        labels,
        **parts[method],
        recipe=given["recipe"],
        outcome=given["outcome"]["options"].get("column"),
        target=given["target"],
        facts=facts | {"method": method},
    )
    if report is not None:
        types, forms = types_of(report), forms_of(report)
        needed = dict.fromkeys([*saved.encoder.columns_, given["person"]])
        needed = [name for name in needed if name in types]
        saved.types = {name: (types[name], forms.get(name, {})) for name in needed}
    _check_release(saved, told["release"], frame)
    # The seed is no secret, so the noise is the key's.
    noise = hmac.digest(key.secret, f"published {saved.facts['digest']}".encode(), "sha256")
    if told["refit"]:
        saved = refitted(saved, rows["X"], Z, classes, given, rng)
    check_useful(saved)
    if not told["refit"]:
        people = frame.set_index("row", drop=False).loc[rows["row"][held]].reset_index(drop=True)
        describe_held_out(saved, people, Z[held], rng, level, tests)
    publish = {name: told[name] for name in ("epsilon", "min_cell_count")}
    return published(saved, np.random.default_rng(int.from_bytes(noise)), **publish)


def _check_release(saved, asked, frame):
    """Set what a filter releases; refuse columns that it cannot."""
    saved.release = [ACCEPTED, *(name for name in asked if name != ACCEPTED)]
    strange = [name for name in saved.release[1:] if name not in {*DECIDED, *frame}]
    if strange:
        raise CounterweightError(
            f"filter.release names {strange[0]!r}, which is neither leaf nor probability nor a "
            "column of the table: leave it out, or correct its name."
        )


def _candidates(job):
    """Tables of the methods that may be delivered, by method; the study's choice first."""
    given, found = job.given, {}
    for i, name in enumerate([given["filter"]["method"], *given["among"]]):
        at = {key: getattr(job.input, key + (f"_{i}" if i else "")) for key in TABLES}
        found[name] = {
            "selector": given["among"][name] if i else given["selector"]["selector"],
            "arrays": read_models(at["proxy"])[given["filter"]["repeat"], ""],
            "weights": read_columns(at["weights"]),
            "metrics": read_columns(at["metrics"]),
        }
    return found


def only_setting(proxy, setting):
    """A proxy restricted to one of its settings; itself where it has one alone.

    One of several settings is a `SplitTreeProxy`.
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
    one.splits_, one.trees_ = split_growth.pruned(proxy.splits_, [proxy.trees_[at]])
    return one


def saved_filter(
    frame, features, labels, arrays, weights, metrics, *, selector, recipe, outcome, target, facts
):
    """The filter of one method at one setting and repeat, from the tables of its study.

    `frame` are the prepared rows; the tables are columns by name, `weights` and `metrics` those of
    the method; `arrays` hold the fitted proxy of that repeat at all settings, `selector` is its
    registry name; `recipe` has ``name`` and ``options`` of the features; `facts` are
    ``study, title, method, setting, repeat, id, key``.
    """
    data, repeat, setting = StudyData(features, labels), facts["repeat"], facts["setting"]
    encoder = traced_encoder(data, frame, recipe, outcome)
    one = only_setting(load("selector", selector).from_arrays(arrays, data.names), setting)
    accepted = acceptances(weights).get(repeat, {})
    if setting not in accepted:
        raise CounterweightError(
            f"filter.setting is {setting!r}, which the method does not have in repeat {repeat}; "
            f"choose one of {listed(accepted, 30)}."
        )
    rho = accepted[setting]
    part, train = data.labels[repeat], data.role(repeat, "train")
    words = [part[data.GROUP + name][train] for name in data.group_columns]
    names, groups = group_names(words, data.group_columns)
    sizes, Z = [len(block) for block in names], memberships(words, names)
    eta = numbers_of(setting).get("eta", 0.0)
    saved = SavedFilter(
        facts=dict(facts) | {"selector": selector, "eta": eta, "rows": len(Z)} | versions(),
        encoder=encoder,
        arrays=one.to_arrays(),
        groups=groups,
        classes=np.repeat(data.group_columns, sizes).tolist(),
        base=Z.mean(axis=0),
        target=target_shares(target, groups, sizes),
        mass=np.zeros(len(rho)),
        acceptance=rho,
        shares=np.zeros((len(rho), len(groups))),
    )
    X = data.X[data.positions(repeat, train)]
    saved.mass, saved.shares = leaf_table(saved.memberships(X), Z)
    saved.ranges = ranges_of(encoder, X)
    saved.facts["digest"] = saved.digest()
    saved.measures = _measures(metrics, repeat, setting, groups, saved.target)
    return saved


def _measures(metrics, repeat, setting, groups, target):
    """What was measured of the filter, by metric and part (train or test)."""
    own = (metrics["repeat"] == repeat) & (metrics["setting"] == setting)
    told = {
        tuple(str(metrics[key][at]) for key in ("metric", "target", "part")): metrics["value"][at]
        for at in np.flatnonzero(own)
    }
    measured = {
        (name, of): float(value)
        for (name, of, group), value in told.items()
        if not group and name in MEASURES
    }
    for of in ("train", "test"):
        share, gain = (
            np.array([told.get((name, of, group), np.nan) for group in groups], float)
            for name in ("group_share", "group_gain")
        )
        if np.isfinite(share).all() and (np.nan_to_num(gain) != 0).all():
            measured["imbalance_before", of] = imbalance(share / gain, target)
    return measured


def describe_held_out(saved, frame, Z, rng, level, tests=1):
    """What rows that did not fit a filter tell of it; kept as ``saved.held``.

    For each prepared row of `frame`, with memberships `Z` (n, K), the leaf and the acceptance are
    drawn. Then ``disclosivity`` of the leaves, of each released column (with ``accepted`` alone as
    the first), and of all of them together has a value on these rows and an upper bound of the
    confidence `level`; ``share_before``, ``share_after``, ``acceptance_rate`` and
    ``imbalance_change`` (`balance_change`) have intervals, ``imbalance_before``, ``imbalance`` and
    ``distorted`` (of the group where it is largest) values. Of several balanced columns each has
    its own imbalance and change, too, by its number: one may get worse while the whole gets better.

    Where the same rows chose among `tests` filters, bounds and intervals hold for all of these at
    once. What is certified bounds the leaves by its alpha, which the tests have shown; where these
    rows bound them lower, that is ``alone``: of the same confidence, and not both at once.
    """
    alone = 1 - (1 - level) / tests
    member = saved.memberships(saved.encoder.transform(frame))
    leaf = drawn_parts(member, rng.random(len(Z)))
    accepted = rng.random(len(Z)) < saved.acceptance[leaf]
    p = np.minimum(member @ saved.acceptance, 1.0)
    held, own = {}, {ACCEPTED: accepted.astype(int), "leaf": leaf, "probability": p}

    def bounded(name, parts, number, i=-1):
        found = disclosure(part_counts(parts, Z, number), saved.sizes, alone)
        held[name, "value", i], held[name, "bound", i] = found.value, found.bound

    bounded("disclosivity", leaf, len(saved.mass))
    joint = np.zeros(len(Z), int)
    for i, name in enumerate(saved.release):
        parts = _parts(own[name] if name in own else frame[name])
        bounded("released", parts, parts.max() + 1, i)
        joint = np.unique(joint * (parts.max() + 1) + parts, return_inverse=True)[1]
    bounded("released", joint, joint.max() + 1)
    if "alpha" in saved.facts:
        alpha, own = saved.facts["alpha"], held["disclosivity", "bound", -1]
        held["disclosivity", "bound", -1] = alpha
        if own < alpha:  # as sure, but not both at once
            held["disclosivity", "alone", -1] = own
        # Whether somebody is accepted is drawn by the leaf, so it tells no more than the leaf.
        by_leaf = [i for i, name in enumerate(saved.release) if name in (ACCEPTED, "leaf")]
        for i in (*by_leaf, -1) if len(by_leaf) == len(saved.release) else by_leaf:
            of_leaf = "leaf" in (saved.release if i < 0 else saved.release[i : i + 1])
            found = alpha if of_leaf else held["released", "bound", i]
            held["released", "bound", i] = min(found, alpha)

    def told(name, *values, i=-1):
        estimate = ratio_mean(*values, level=alone, bounds=(0, 1))
        for kind in ("value", "low", "high"):
            held[name, kind, i] = getattr(estimate, kind)

    told("acceptance_rate", p)
    for k, group in enumerate(Z.T):
        told("share_before", group, i=k)
        if p.any():
            told("share_after", group, p, i=k)
    starts, stops = block_starts(saved.sizes), np.cumsum(saved.sizes)
    blocks = {c: slice(*ends) for c, ends in enumerate(zip(starts, stops, strict=True))}
    for c, block in ({-1: slice(None)} | (blocks if len(blocks) > 1 else {})).items():
        own, target = Z[:, block], saved.target[block]
        held["imbalance_before", "value", c] = imbalance(own.mean(axis=0), target)
        if p.any():
            held["imbalance", "value", c] = imbalance(p @ own / p.sum(), target)
            change = balance_change(p, own, target, alone)
            for kind, value in zip(("value", "low", "high"), change, strict=True):
                held["imbalance_change", kind, c] = value
    if p.any():
        mass, shares = leaf_table(member, Z)
        held["distorted", "value", -1] = np.nanmax(distorted(saved.acceptance * mass, mass, shares))
    held["rows", "value", -1], held["level", "value", -1] = len(Z), level
    saved.held = held


def _parts(values):
    """Parts of the rows by a released column, from 0; many values in bins of enough rows."""
    codes, distinct = pd.factorize(pd.Series(values), sort=True, use_na_sentinel=False)
    if len(distinct) <= VALUES:
        return codes
    bins = max(1, min(VALUES, len(codes) // BIN))
    # Codes are in order, so bins of codes are bins of values; equal values stay together.
    ranks = np.searchsorted(np.sort(codes), codes)
    return pd.factorize(ranks * bins // len(codes), sort=True)[0]


def check_split(candidates, Z, rows, told, target):
    """Refuse fits without any split, of which no choice by held-out rows could make a filter.

    `Z` (n, K) are memberships of the rows of the fit, of `rows` in all; `told` is what the study
    says of the filter, with ``least_leaf``, the rows that a leaf has at least.
    """
    every = [mass for proxy, _ in candidates.values() for mass in proxy.mass_]
    left = imbalance(Z.mean(axis=0), target)
    if left <= EVEN or any((mass > 0).sum() > 1 for mass in every):
        return
    certified, least, alpha = told["certified"], told["least_leaf"], "allow a larger alpha"
    cause = f"no split of them within alpha {(certified or told['chosen'])['alpha']:g}"
    cause += f" brings the groups nearer to the target (now off by {left:.3f})"
    helps = f"Bring more rows, columns that tell more about the groups, or {alpha}."
    if len(Z) <= 2 * least:
        needed = int(2 * least * rows / len(Z))
        cause = f"a leaf has at least {least} rows: so few cannot be split"
        helps = (
            f"A larger alpha or larger leaves do not help: bring more than {needed} rows with a "
            "group (some thousand make a good filter)"
        )
        helps += f", or have more of them fit it {UNPROMISED}." if certified else "."
    raise CounterweightError(
        f"No setting of the filter has a split: {len(Z)} of {rows} rows fitted it, and {cause}. "
        f"Nothing is delivered. {helps}"
    )


def check_useful(saved):
    """Refuse a filter that accepts everybody alike, though the groups are not as wanted."""
    left = imbalance(saved.base, saved.target)
    if np.ptp(saved.acceptance[saved.mass > 0]) == 0 and left > EVEN:
        raise CounterweightError(
            f"The filter of the study {saved.facts['study']} would accept everybody alike: no "
            f"split of the {saved.facts['rows']} rows that it was fitted on brings the groups "
            f"nearer to the target (now off by {left:.3f}) within "
            f"{saved.facts['setting'] or 'its only setting'} and with leaves as large as asked. "
            "Nothing is delivered: bring more rows or columns, allow a larger alpha, or take "
            "smaller leaves (min_samples_leaf, min_weight_fraction_leaf)."
        )


def refitted(saved, X, Z, classes, given, rng):
    """A filter fitted again on all rows of the split, with no figures of held-out ones.

    `given` has ``selector`` and ``weighting`` with their options.
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


def certified_setting(candidates, X, Z, *, target, classes, alpha, level, rng):
    """The method and setting to deliver, such that with confidence no leaf tells more than alpha.

    The rows (n, d) with memberships (n, K) are those that did not fit the proxies. Candidates are,
    by method, a fitted proxy with the acceptance by setting; they may differ in the size of their
    leaves, or in anything. The rows of the fit put them in order (`careful_to_bold`), the others
    test them in this order, each at the full level, up to the first that fails: so the chance
    that any one is certified wrongly is at most 1 - level (a fixed sequence of tests). Of those
    certified, which may therefore be chosen by the same rows, the best balanced is the choice.

    Returns ``method, setting, tests``, the last the number of candidates that stood in the order.
    Refused where none that balances anything is certified.

    References
    ----------
    Angelopoulos, Bates, Candes, Jordan & Lei (2021), Learn then test.
    """
    order = careful_to_bold(candidates, len(Z), target, classes, level)
    passed, failed = [], None
    for found, *one in _looked_at(order, candidates, X, Z, target, classes, level, rng):
        if found.bound > alpha:
            failed = *one[1:], found.bound
            break
        passed.append(one)
    start = _useful_below(Z.mean(axis=0), target)
    useful = [one for one in passed if one[0] < start]
    if not useful:
        near = "none within it balances anything on rows that did not fit it"
        helps = "bring more rows, or columns that tell more about the groups"
        if failed:
            near = (
                "the most careful that balances anything" if not passed else f"{near}, and the next"
            )
            near += ", {}, {}, may tell new people up to {:.3f}".format(*failed)
            helps = "take larger leaves or more rows"
        raise CounterweightError(
            f"No filter of this study is certified at alpha {alpha:g} with confidence {level:g} on "
            f"{len(Z)} held-out rows: {near}. Nothing is delivered: allow a larger alpha, {helps}, "
            f"or go without a promise for new people {UNPROMISED}."
        )
    _, name, setting = min(useful)
    return name, setting, len(order)


def chosen_setting(candidates, X, Z, *, target, classes, alpha, level, rng):
    """As `certified_setting`, without a promise: held-out rows themselves are told at most alpha.

    Of the settings whose leaves tell so much about the rows that did not fit them, the best
    balanced; where there is none, the one that tells them least. Refused where that balances these
    rows no better than to accept everybody alike.
    """
    order = careful_to_bold(candidates, len(Z), target, classes, level)
    if not order:  # nothing balances anything, which `check_useful` tells
        name = next(iter(candidates))
        return name, candidates[name][0].settings_[-1], 1
    looked = [*_looked_at(order, candidates, X, Z, target, classes, level, rng)]
    within = [one for found, *one in looked if found.value <= alpha and np.isfinite(one[0])]
    left, name, setting = min(within or [min(looked, key=lambda one: one[0].value)[1:]])
    if not left < _useful_below(Z.mean(axis=0), target):
        raise CounterweightError(
            f"No filter of this study balances anything on {len(Z)} rows that did not fit it: the "
            f"best within alpha {alpha:g}, {name}, {setting}, leaves an imbalance of {left:.3f} "
            f"among the accepted, for {imbalance(Z.mean(axis=0), target):.3f} among all. Nothing "
            "is delivered: bring more rows, columns that tell more about the groups, or allow a "
            "larger alpha."
        )
    return name, setting, len(order)


def _useful_below(profile, target) -> float:
    """Imbalance that a filter of any use stays below, where `profile` are the shares of all."""
    return imbalance(profile, target) * (1 - USEFUL)


def _looked_at(order, candidates, X, Z, target, classes, level, rng):
    """What rows are told by each candidate in turn: `Disclosure`, imbalance, method, setting."""
    draws = rng.random(len(Z))
    for name, setting in order:
        proxy, acceptance = candidates[name]
        ((_, M, eta, rho),) = filtered(only_setting(proxy, setting), X, acceptance, [setting])
        member = interpolated_rows(M, eta)
        counts = part_counts(drawn_parts(member, draws), Z, len(rho))
        left = imbalance(realised(rho, *leaf_table(member, Z)), target)
        yield disclosure(counts, classes, level), left, name, setting


def careful_to_bold(candidates, rows, target, classes, level):
    """Methods and settings in the order that certifying goes by, from the rows of the fit alone.

    From the one whose bound of disclosure would be least on so many rows like those of the fit.
    Those that balance no better than one before them are left out.
    """
    tried = []
    for name, (proxy, acceptance) in candidates.items():
        for setting, mass, shares in zip(proxy.settings_, proxy.mass_, proxy.shares_, strict=True):
            left = imbalance(realised(acceptance[setting], mass, shares), target)
            counts = rows * mass[:, None] * shares
            tried.append((disclosure(counts, classes, level).bound, left, name, setting))
    base = proxy.mass_[0] @ proxy.shares_[0]
    order, best = [], _useful_below(base, target)
    for _, left, name, setting in sorted(tried):
        if left < best:
            order.append((name, setting))
            best = left
    return order


def published(saved, rng, *, epsilon=None, min_cell_count=0):
    """A filter with the shares of groups that may be told, among all and in each leaf.

    With `epsilon` they are of counts with Laplace noise (`noisy_counts`), and shares of held-out
    rows, which have none, are left out. With `min_cell_count` leaves in which some group has fewer
    rows, and groups with fewer in all, are told without shares (NaN); never one alone, as the
    others would tell it (`withheld`). The tree and its chances of acceptance were fitted to the
    groups without noise, and bounds of what the filter tells are measured without it: epsilon is
    no promise about them.
    """
    classes, shares, base = saved.sizes, saved.shares, saved.base
    counts = saved.facts["rows"] * saved.mass[:, None] * shares
    told, held = {}, dict(saved.held)
    if epsilon is not None:
        counts = noisy_counts(counts, classes, epsilon, rng)
        shares, base = shares_of(counts, classes), shares_of(counts.sum(axis=0)[None], classes)[0]
        held = {key: value for key, value in held.items() if key[0] not in _SHARES}
        told["epsilon"] = float(epsilon)
    if min_cell_count:
        leaves = withheld(counts.min(axis=1), min_cell_count)
        by_class = np.split(counts.sum(axis=0), block_starts(classes)[1:])
        groups = np.concatenate([withheld(part, min_cell_count) for part in by_class])
        shares = np.where(leaves[:, None] | groups, np.nan, shares)
        base = np.where(groups, np.nan, base)
        held = {key: v for key, v in held.items() if key[0] not in _SHARES or not groups[key[2]]}
        told["min_cell_count"] = float(min_cell_count)
    return replace(saved, facts=saved.facts | told, shares=shares, base=base, held=held)


def noisy_counts(counts, classes, epsilon, rng):
    """Counts (L, K) with Laplace noise, none below 0.

    One person more or less moves the counts of each class by 1 in all (a row that a leaf is
    drawn for counts in several by parts), so the noise has the scale len(classes) / epsilon: the
    table of counts is epsilon-differentially private with respect to one person, whatever is
    made of it.
    """
    noise = rng.laplace(scale=len(classes) / epsilon, size=counts.shape)
    return np.maximum(counts + noise, 0.0)


def shares_of(counts, classes):
    """Shares of the groups within each class, (L, K); 0 where a row has no count."""
    parts = []
    for part in np.split(counts, block_starts(classes)[1:], axis=1):
        total = part.sum(axis=1, keepdims=True)
        parts.append(np.divide(part, total, out=np.zeros_like(part), where=total > 0))
    return np.hstack(parts)


def withheld(counts, least):
    """Which counts are below a limit; where it is one alone, the next smallest with it."""
    few = counts < least
    if few.sum() == 1 and len(counts) > 1:
        few[np.argsort(counts, kind="stable")[1]] = True
    return few


def delivered_records(saved):
    """What was delivered, and what rows that neither fitted nor chose it say, as metric records.

    ``delivered`` (1; the part is the method), ``certified`` (1 or 0) and, of the held-out rows,
    ``disclosivity`` and ``disclosivity_at_most``, ``acceptance_rate``, ``imbalance``,
    ``imbalance_before``, ``imbalance_change`` with its ends (of several balanced columns of each,
    too: the part), ``distorted``; where held-out rows chose it ``share_before`` and ``share_after``
    of each group that may be told, with ends; ``released`` by released column, at most, and where
    it is several of all of them together.
    """
    facts, held = saved.facts, saved.held
    place = {"repeat": 0, "target": "test", "setting": facts["setting"]}
    place["rows"] = int(held.get(("rows", "value", -1), 0))
    values = {"certified": float("alpha" in facts)}
    if held:
        names = ("disclosivity", "acceptance_rate", "imbalance_before", "imbalance", "distorted")
        values |= {n: held[n, "value", -1] for n in names if (n, "value", -1) in held}
        values |= _balance(held, -1)
        values["disclosivity_at_most"] = held["disclosivity", "bound", -1]
        if ("disclosivity", "alone", -1) in held:
            values["disclosivity_alone"] = held["disclosivity", "alone", -1]
        values["confidence"] = held["level", "value", -1]
    records = [{"metric": "delivered", "value": 1.0, "part": facts["method"]}]
    records += [{"metric": name, "value": value} for name, value in values.items()]
    records += [
        {"metric": name, "part": column, "value": value}
        for c, column in enumerate(saved.columns if held else ())
        for name, value in _balance(held, c).items()
    ]
    if "alpha" in facts or "chosen" in facts:  # with their intervals, for figures
        records += [
            {"metric": f"{name}{end}", "part": group, "value": held[name, kind, k]}
            for k, group in enumerate(saved.groups)
            for name in _SHARES
            for end, kind in _ENDS.items()
            if (name, kind, k) in held
        ]
    released = dict(enumerate(saved.release if held else ()))
    released |= {-1: "all of them together"} if len(released) > 1 else {}
    records += [
        {"metric": "released", "part": name, "value": held["released", "bound", i]}
        for i, name in released.items()
    ]
    return [place | record for record in records]


def _balance(held, c):
    """The imbalance of the accepted and of all, and its change, of a column's number, -1 of all."""
    keys = {name: (name, "value", c) for name in ("imbalance_before", "imbalance")}
    keys |= {f"imbalance_change{end}": ("imbalance_change", k, c) for end, k in _ENDS.items()}
    return {name: held[key] for name, key in keys.items() if key in held}
