"""Sensitive groups: who trains and who is tested, and whose group stays hidden."""

import logging
from difflib import get_close_matches

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Choice, Flag, Option
from counterweight.labeling.columns import free_name, in_digits
from counterweight.labeling.split import check_features, size_records
from counterweight.numerics.groups import (
    group_names,
    imbalance,
    memberships,
    rows_needed,
    target_shares,
)
from counterweight.tables.study_data import check_row_ids, found_rows, generator

log = logging.getLogger("counterweight")
#: Studies with this labeling rule are about whom to collect, not about classes.
TASK = "filter"
OPTIONS = {
    "group": Option(...,
        "Sensitive columns whose groups are to be balanced, one or several.",
        type=["array", "string"], items={"type": "string"}, minItems=1, uniqueItems=True),
    "missing": Choice("refuse", ["refuse", "drop", "own_group"], "Rows without a group: an error, left out, or a group of their own named missing."),
    "stratified": Flag(False, "Whether rows are held out by group, the same share of each, so that small groups are in every part."),
}  # fmt: skip
LABEL = "groups are known of training rows only"
#: Most groups of one column: beyond it the column is a number or a name, not a group.
MOST_GROUPS = 50
#: Groups of a column of yes and no, by what stands in a table of it.
_YES_OR_NO = dict.fromkeys(("0", "0.0", "false", "no"), "no")
_YES_OR_NO |= dict.fromkeys(("1", "1.0", "true", "yes"), "yes")
#: Prefix of the group columns in the tables of labels and of the truth.
PREFIX = "group_"


def sensitive(frame, types=None, *, group, missing="refuse", stratified=False):
    """Groups of the rows, and the rows that count: see `OPTIONS`.

    `types` are those of the columns: groups of a ``"boolean"`` one are ``"no"`` and ``"yes"``. Each
    column of `group` is a class of groups. Returns a dict: ``groups``, arrays of texts by column;
    ``kept``, a mask; ``stratified``, whether rows are to be held out by group.
    """
    columns = [group] if isinstance(group, str) else list(group)
    if missing not in OPTIONS["missing"]["enum"]:
        raise CounterweightError(
            f"labeling.missing is {missing!r}: choose one of {listed(OPTIONS['missing']['enum'])}."
        )
    if not columns or len(set(columns)) < len(columns):
        raise CounterweightError(
            f"labeling.group is {columns}: name at least one sensitive column, each once."
        )
    known = [name for name in frame.columns if name != "row"]
    rows, kept, groups = frame["row"].to_numpy(), np.ones(len(frame), bool), {}
    for column in columns:
        if column not in known:
            near = get_close_matches(str(column), known, 1, 0.5)
            hint = f" (perhaps you mean {near[0]!r})" if near else ""
            raise CounterweightError(
                f"labeling.group names the column {column!r}, which the data set does not "
                f"have{hint}; it has {listed(known, 20)}."
            )
        values, gone = group_texts(frame[column], (types or {}).get(column) == "boolean")
        if gone.any() and missing == "refuse":
            raise CounterweightError(
                f"The sensitive column {column!r} is missing in {int(gone.sum())} of {len(frame)} "
                f"rows (first: row {rows[gone][0]}): set labeling.missing to drop to leave these "
                "rows out, or to own_group to make them a group."
            )
        if missing == "own_group":
            values[gone] = free_name("missing", set(values[~gone]))
        else:
            kept &= ~gone
        groups[column] = values
    if not kept.any():
        raise CounterweightError(
            f"None of {len(frame)} rows has a group in {listed(columns)}: choose other sensitive "
            "columns, or set labeling.missing to own_group."
        )
    for column, values in groups.items():
        names = np.unique(values[kept])
        if len(names) > MOST_GROUPS:
            raise CounterweightError(
                f"The sensitive column {column!r} has {len(names)} different values in "
                f"{int(kept.sum())} rows (such as {listed(names, 3)}), more than {MOST_GROUPS} "
                "groups: recode it into a few groups (for a number, into ranges), or choose "
                "another column."
            )
        if len(names) < 2:
            raise CounterweightError(
                f"The sensitive column {column!r} has the one group {str(names[0])!r} in all "
                f"{int(kept.sum())} rows, so there is nothing to balance: choose another column."
            )
    return {"groups": groups, "kept": kept, "stratified": stratified}


def group_texts(column, boolean=False):
    """Values as text, whole numbers without a point; and where they are missing.

    Those of a `boolean` column are ``"no"`` and ``"yes"``, whether it has 0 and 1, words or truths.
    """
    blank = column.isna().to_numpy()
    if boolean:
        told = column.astype(str).str.lower()
        column = told.map(_YES_OR_NO).fillna(told).mask(blank)
    values = np.full(len(column), "", dtype=object)
    there = column[~blank]
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        values[~blank] = there.astype(str).to_numpy(dtype=object)
        blank = blank | np.array([not str(value).strip() for value in values], bool)
    else:
        values[~blank] = [*map(in_digits, there)]
    return values, blank


def yes_or_no(values):
    """Values of a column of yes and no as these words, None where they are blank."""
    told, blank = group_texts(values, boolean=True)
    return np.where(blank, None, told)


def by_stratum(numbers, found):
    """Numbers by stratum, whose names are texts as a config has them, by the names `found`."""
    names = [*numbers]
    if found <= {"no", "yes", "not known"}:
        names = yes_or_no(pd.Series(names))
    return dict(zip(names, map(float, numbers.values()), strict=True))


def explored_chances(share, group):
    """Chance of each row (N,) to be decided by chance: one for all, or one by stratum."""
    if not isinstance(share, dict):
        return np.full(len(group), float(share))
    known = by_stratum(share, found := {*group})
    if absent := sorted(found - known.keys()):
        strange = sorted(known.keys() - found)
        blank = ' "not known" is a stratum too, of blank cells.' * ("not known" in absent)
        raise CounterweightError(
            f"explore.share names no share for {listed(absent, 5)}, which explore.by has in rows "
            f"without an outcome: give one for each stratum.{blank}"
            + f" It names {listed(strange, 5)}, which no such row has."
            * bool(strange)
        )
    return np.array([known[name] for name in group])


def label_groups(
    frame, features, rule, outcome, *, seed, study, repeats, test_share, certified=None, types=None
):
    """Groups to learn a filter from, and what is hidden, in every repeat.

    `frame` is the prepared table, with ``row``; `features` are of the rows kept by the recipe, in
    the order that draws go by, none constant, not finite, or made of a sensitive column; `rule` is
    `sensitive` with its options; ``outcome(frame, population)`` gives 0 and 1, missing where there
    is none; `types` are those of the columns of one's own table; `study` is the name that the
    random streams go by; `certified` has ``alpha`` and ``level`` at which a filter is to be
    certified by rows held out.

    Labels have repeat, row, role (train or test), ``group_{column}`` for each sensitive column and
    ``y_general`` (Int8), both missing on test rows; the truth has repeat, row, the groups and
    outcomes of all rows.
    """
    check_features(features)
    check_row_ids(np.sort(features["row"]))
    check_row_ids(frame["row"])
    grouped = rule(frame, types)
    refuse_group_features(features, list(grouped["groups"]))
    absent = "Features are of rows that the table does not have: run the study again."
    at = found_rows(frame["row"].to_numpy(), features["row"].to_numpy(), absent)
    at = at[grouped["kept"][at]]
    tested = int(test_share * len(at))
    if not 0 < tested < len(at):
        raise CounterweightError(
            f"test_share {test_share} leaves {tested} of {len(at)} rows for the test: choose a "
            "share that leaves rows on both sides."
        )
    if certified:
        _check_certifiable(grouped["groups"], at, tested, certified)
    rows = frame["row"].to_numpy("int32")[at]
    groups = {column: values[at].astype(object) for column, values in grouped["groups"].items()}
    for column, values in groups.items():
        if len(set(values)) < 2:
            raise CounterweightError(
                f"The feature recipe leaves rows of the one group {values[0]!r} of {column!r}: "
                "choose another recipe or another sensitive column."
            )
    _tell_exact(features, rows, groups)
    part = frame.iloc[at].reset_index(drop=True)
    outcomes = pd.array(outcome(part, np.ones(len(part), bool)), dtype="Int8")
    labels, truth = [], []
    for repeat in range(repeats):
        rng = generator(seed, study, repeat, "split")
        if grouped["stratified"]:
            test = _stratified(list(groups.values()), test_share, rng)
        else:
            test = np.zeros(len(rows), bool)
            test[rng.permutation(len(rows))[:tested]] = True
        _check_training(groups, test, repeat, test_share)
        known = {"repeat": np.full(len(rows), repeat, "int16"), "row": rows}
        seen = outcomes.copy()
        seen[test] = pd.NA
        role = np.where(test, "test", "train").astype(object)
        shown = {PREFIX + name: np.where(test, None, values) for name, values in groups.items()}
        labels.append(pd.DataFrame(known | {"role": role} | shown | {"y_general": seen}))
        hidden = {PREFIX + name: values for name, values in groups.items()}
        truth.append(pd.DataFrame(known | hidden | {"y_general": outcomes}))
    return pd.concat(labels, ignore_index=True), pd.concat(truth, ignore_index=True)


def _stratified(columns, test_share, rng):
    """Rows held out: the same share of each combination of groups, to a row; one stays at least."""
    stratum = np.zeros(len(columns[0]), int)
    for values in columns:
        own = np.unique(values.astype(str), return_inverse=True)[1]
        stratum = np.unique(stratum * (own.max() + 1) + own, return_inverse=True)[1]
    order = np.lexsort((rng.random(len(stratum)), stratum))
    sizes = np.bincount(stratum)
    place = np.empty(len(stratum), int)
    place[order] = np.arange(len(stratum)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # Sums of the shares are rounded, so that many small groups do not all lose or win a row.
    ends = np.floor(np.cumsum(sizes) * test_share + 0.5)
    wanted = np.minimum(np.diff(ends, prepend=0.0), sizes - 1)
    return place < wanted[stratum]


def _check_certifiable(groups, at, tested, certified):
    """Refuse tables too small for any filter that is worth having to be certified."""
    classes = [len(set(values[at])) for values in groups.values()]
    least = rows_needed(certified["alpha"], certified["level"], classes)
    if tested < least:
        raise CounterweightError(
            f"{len(at)} rows with a group are too few to certify a filter at alpha "
            f"{certified['alpha']:g} with confidence {certified['level']:g}: {tested} rows are "
            f"held out, and certifying takes at least {least} even for two leaves that tell "
            "nothing. Allow a larger alpha, hold more rows out (test_share), bring more rows, or "
            "go without a promise for new people (certified: false; in a study chosen in place "
            "of certified)."
        )


def refuse_group_features(features, columns):
    """Refuse features, columns or names of them, that were made of a sensitive column."""
    names = [name for name in features if name != "row"]
    for column in columns:
        made = [
            name
            for name in names
            if name == column or name.startswith((f"{column}=", f"{column}_missing"))
        ]
        if made:
            raise CounterweightError(
                f"The sensitive column {column!r} is among the features ({listed(made, 3)}), and a "
                f"filter must not see the group: add {column} to features.drop (recipe one_hot), "
                "or name the features without it (as_is)."
            )


def _tell_exact(features, rows, groups):
    """Log features that say a group exactly, whatever their name."""
    made = features.set_index("row").loc[rows]
    flags = [name for name in made if np.isin(made[name].to_numpy(), (0.0, 1.0)).all()]
    values = made[flags].to_numpy(dtype=bool)
    for column, words in groups.items():
        for word in np.unique(words.astype(str)):
            mine = (words == word)[:, None]
            same = (values == mine).all(axis=0) | (values != mine).all(axis=0)
            if same.any():
                log.warning(
                    "Feature %s says the group %s of %s exactly: a filter that uses it sees the "
                    "group, within the limit on disclosure; consider to drop it.",
                    listed(np.array(flags)[same]),
                    word,
                    column,
                )


def _check_training(groups, test, repeat, test_share):
    for column, values in groups.items():
        names = np.unique(values.astype(str)).tolist()
        absent = [name for name in names if not (values[~test] == name).any()]
        if absent:
            count = int((values == absent[0]).sum())
            raise CounterweightError(
                f"The group {absent[0]!r} of {column!r} has {count} of {len(values)} rows and none "
                f"of them is in the training part of repeat {repeat}: join rare groups in the "
                f"data, leave their rows out, or lower test_share (now {test_share:g})."
            )


def describe_groups(labels, truth, dropped, target=None):
    """Sizes and shares of the groups in each repeat, as metric records.

    Labels and truth are from `label_groups`; `dropped` counts rows of the table left out, by the
    recipe or for want of a group; `target` is the share by group, equal within each column if None.
    ``rows_train``, ``rows_test``, ``rows_dropped``, ``groups`` (their number); by part (``target``
    train or test) ``group_share`` (by group, with its standard error) and ``starting_imbalance``,
    the Euclidean distance of the shares from the target.
    """
    columns = [name.removeprefix(PREFIX) for name in truth if name.startswith(PREFIX)]
    records = []
    for repeat, part in labels.groupby("repeat"):
        hidden = truth.loc[part.index]
        words = [hidden[PREFIX + column].to_numpy(dtype=object) for column in columns]
        names, titles = group_names(words, columns)
        Z = memberships(words, names)
        U = target_shares(target, titles, [len(block) for block in names])
        test = (part["role"] == "test").to_numpy()
        sizes = {
            "rows_train": int((~test).sum()),
            "rows_test": int(test.sum()),
            "rows_dropped": dropped,
            "groups": Z.shape[1],
        }
        records += size_records(repeat, len(part), sizes)
        for name, mask in (("train", ~test), ("test", test)):
            r, count = Z[mask].mean(axis=0), int(mask.sum())
            place = {"repeat": repeat, "target": name, "rows": count}
            errors = np.sqrt(r * (1 - r) / count)
            records += [
                place
                | {"metric": "group_share", "part": title, "value": share, "standard_error": error}
                for title, share, error in zip(titles, r, errors, strict=True)
            ]
            records.append(place | {"metric": "starting_imbalance", "value": imbalance(r, U)})
    return records
