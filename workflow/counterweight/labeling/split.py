"""Roles of the rows in each repeat, and what stage 2 reads and writes of a table held in memory."""

import contextlib
import functools
import logging

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.column_statistics import by_content, level_counts
from counterweight.labeling.columns import (
    check_finite,
    condition_in_words,
    condition_mask,
    features_of,
    recorded_columns,
    require,
)
from counterweight.labeling.target_leakage import learnt, without_advice
from counterweight.numerics.checks import group_sums
from counterweight.numerics.rates.datasets import DataSets
from counterweight.numerics.rates.values import bases
from counterweight.numerics.zero_rejection import drawing_order, kept_rows
from counterweight.plan.components import labeling_rules
from counterweight.tables import parquet
from counterweight.tables.parquet import read_table, write_table
from counterweight.tables.study_data import check_row_ids, generator

log = logging.getLogger("counterweight")

TARGETS = ("general", "unlabeled")


def labeled_repeats(
    frame,
    features,
    truth,
    rule,
    outcome,
    *,
    seed,
    study,
    repeats,
    test_share,
    targets=TARGETS,
    keep_rate=1.0,
    complete=False,
    informed=False,
    samples=None,
    test_rows=None,
    user=None,
    copies=None,
    promises=(),
):
    """Who is labeled, what is seen and what is true, a repeat at a time: pairs of data frames.

    `frame` is the prepared table, `features` the rows kept, with ``row``; none may be constant or
    not finite. What is drawn goes by the order of their rows. `truth` is what is known of a
    generated data set, by ``row``.

    ``rule(frame, truth, rng)`` gives the mask of the labeled rows; an `informed` one also gets
    ``features`` (an array) and ``outcome``, and gives a dict: ``selected``, ``left_out``,
    ``samples`` (named data sets), ``deployed`` (scores of a deployed model), ``p_selected`` (the
    chances that it drew by, which are hidden) and ``keep_rate`` (at which each row was kept before
    it came here). A `complete` one may label every row. ``outcome(frame, population)`` gives 0 and
    1, NaN where nobody knows it; each of the `targets` is a population with an outcome of its own.

    `study` names the random streams. `test_share` of the rows is held out, or those that meet the
    condition `test_rows`, the same in every repeat; `samples` are conditions of named data sets.
    With the column `user` (or session, or day) users are held out as a whole, so that none is
    learned from and tested on; so are rows that are `copies` (n,) of each other, as of
    `counterweight.labeling.columns.copies_together`. A split that leaves a rate of `promises`
    without enough rows to fit or without any to judge is drawn again. `keep_rate`, in (0, 1], is
    that at which test rows stay in the log whose outcome is 0 for every target; rejected rows are
    in neither table (Mineiro 2010). A row's fate depends on its id alone, or on its place where ids
    do not ascend.

    The first frame has repeat, row, role, selected, keep_rate (1 where a row could not be
    rejected), and ``y_{target}`` where seen, i.e. on labeled training rows; ``in_{sample}`` and
    ``deployed`` where there are named data sets. The second has the same rows with every outcome,
    what `truth` knows, and ``user``, a number for each.
    """
    frame, truth, facts = _in_order(frame, features, truth, user, copies)
    rows, everyone = frame["row"].to_numpy("int32"), np.ones(len(frame), bool)
    frame = frame.assign(row=np.sort(rows))
    fixed = test_rows and sample_masks(frame, {"test_rows": test_rows}, None, "")["test_rows"]
    held = "test_rows" if test_rows else f"test_share {test_share}"
    X = features.drop(columns="row").to_numpy(dtype=float) if informed else None
    for repeat in range(repeats):
        draws = functools.partial(generator, seed, study, repeat)
        told = {"features": X, "outcome": outcome(frame, everyone)} if informed else {}
        answer = rule(frame, truth, draws("labeling"), **told)
        answer = answer if informed else {"selected": answer}
        selected = _checked_selection(answer["selected"], len(frame), complete)
        taken = ~np.asarray(answer.get("left_out", ~everyone), bool)
        users = facts.get("user")
        named = answer.get("samples", {}) | sample_masks(frame, samples or {}, draws("samples"))
        named = {name: np.asarray(mask, bool) for name, mask in named.items()}
        thin = promises and _thin(promises, outcome(frame, everyone), selected, taken, named)
        if test_rows:
            test = fixed & taken
            _check_thin(thin, test, held)
        else:
            test = _held_out(test_share, taken, users, draws("split"), thin)
        _check_both_sides(held, test, taken)
        seen = selected & ~test & taken
        outcomes = _outcomes(frame, outcome, targets, selected, seen, repeat)
        zero = np.logical_and.reduce([test, *(values == 0 for values in outcomes.values())])
        rates = np.where(zero, keep_rate, 1.0)
        key = int(draws("test zeros").integers(2**63))
        kept = kept_rows(~zero, frame["row"].to_numpy(), rates, key) & taken
        ids = {"repeat": np.full(len(rows), repeat, "int16"), "row": rows}
        outcomes = {name: pd.Series(values, dtype="Int8") for name, values in outcomes.items()}
        visible = {
            "role": np.select([test, selected], ["test", "labeled"], "unlabeled"),
            "selected": selected.astype("int8"),
            # What a log lost before anybody looked, its rule tells.
            "keep_rate": rates * answer.get("keep_rate", 1.0),
        } | {name: values.where(seen, pd.NA) for name, values in outcomes.items()}
        visible |= {} if copies is None else {"copies": users}
        named = {f"in_{name}": mask for name, mask in named.items()}
        named |= {key: np.asarray(answer[key], float) for key in ("deployed",) if key in answer}
        chances = {k: np.asarray(answer[k], float) for k in ("p_selected",) if k in answer}
        yield (
            pd.DataFrame(ids | visible | named)[kept],
            pd.DataFrame(ids | outcomes | facts | chances | named)[kept],
        )


def sample_masks(frame, spec, rng, place="the group or data set "):
    """Rows of each named data set, as masks by name; a row may be in several.

    A condition is ``column`` with ``value`` (equal), ``values`` (one of them), or ``at_least``
    and ``below`` (numbers, one or both), or ``all``, a list of conditions that hold at once; its
    words are checked where a run is planned (`counterweight.plan.mistakes.condition_mistakes`).
    Rows where the column is missing do not meet it. With ``most`` a data set is at most so
    many of its rows, drawn at random: the draw of a row is a hash of its ``row`` id, the name
    of the data set and one number from `rng`, so it depends neither on the order of the rows
    nor on what other data sets there are. That number is drawn whatever `spec` says; `rng` is
    None where nothing is to be drawn. `place` stands before the names in messages.
    """
    draw = None if rng is None else int(rng.integers(2**63))
    masks = {}
    for name, condition in spec.items():
        where = f"{place}{name}"
        mask = condition_mask(frame, condition, where)
        if not mask.any():
            raise CounterweightError(
                f"{where}: none of {len(frame):,} rows meets the condition "
                f"{condition_in_words(condition)}{_seen(frame, condition)}: correct it, or leave "
                "it out."
            )
        masks[name] = mask
        if "most" in condition:
            masks[name] = _drawn(frame, mask, condition["most"], draw, name, where)
    return masks


def _drawn(frame, mask, most, draw, name, where):
    """At most `most` of the rows of a mask."""
    if draw is None:
        raise CounterweightError(f"{where}: most draws at random, which cannot be done here.")
    where_true = np.flatnonzero(mask)
    if len(where_true) <= most:
        log.info("%s has %d rows, no more than the %d asked for", where, len(where_true), most)
        return mask
    rows = frame["row"].to_numpy()[where_true]
    seed = draw << 64 | int.from_bytes(name.encode()[:256], "little") << 128
    chosen = np.zeros(len(mask), dtype=bool)
    chosen[where_true[drawing_order(rows, seed)[:most]]] = True
    return chosen


def _seen(frame, condition):
    """What the column of a condition holds, for its message."""
    if "column" not in condition:
        return ""
    values = frame[condition["column"]].dropna()
    if "value" in condition or "values" in condition:
        kind = "numbers" if is_numeric_dtype(values) else "text"
        return f" (the column holds {kind}, e.g. {listed(values.unique()[:8])})"
    return f" (it runs from {values.min()} to {values.max()})" if len(values) else ""


def _in_order(frame, features, truth, user, copies):
    """The table and what is known of it in the order of the features, which are checked; facts."""
    check_features(features)
    check_row_ids(np.sort(features["row"]))
    check_row_ids(frame["row"])
    if copies is not None:
        copies = pd.Series(copies, frame["row"].to_numpy()).loc[features["row"]]
    frame = frame.set_index("row", drop=False).loc[features["row"]].reset_index(drop=True)
    facts = {}
    if truth is not None:
        truth = truth.set_index("row").loc[features["row"]].reset_index(drop=True)
        facts = {name: truth[name].to_numpy() for name in truth.columns}
    if user is not None:
        require(frame, [user], "key user")
        codes, _ = pd.factorize(frame[user])
        if (codes < 0).any():
            raise CounterweightError(
                f"The user {user!r} is missing in {int((codes < 0).sum())} of {len(codes)} rows "
                f"(first: row {frame['row'].to_numpy()[int(np.argmax(codes < 0))]}): fill it in, "
                "or leave these rows out."
            )
        facts["user"] = codes.astype("int32")
    elif copies is not None:
        facts["user"] = pd.factorize(copies)[0].astype("int32")
    return frame, truth, facts


def _check_both_sides(held, test, taken):
    if not 0 < test.sum() < taken.sum():
        raise CounterweightError(
            f"{held} leaves {int(test.sum())} of {int(taken.sum())} rows for the test: choose it "
            "so that rows are left on both sides."
        )


#: A rate of a promise needs so many rows in a fit, which is cross-validated in it, and on the other
#: side of a split; how many rows of it make it thin, and how often a split is drawn then.
FITTED, JUDGED, THIN, DRAWN = 3, 1, 40, 1000


def _thin(promises, y, selected, taken, named):
    """Masks of the rows of promised rates that have few, by the rates; refused are too few."""
    y = np.where(selected & ~np.isnan(y), y, -1)
    found = bases(promises, DataSets(None, y, members=named, main=taken))
    for rate, mask in found.items():
        if (rows := int((mask & taken).sum())) < FITTED + JUDGED:
            has = "1 row" if rows == 1 else f"{rows or 'no'} rows"
            raise CounterweightError(
                f"The promises ask for {rate}, and the table has {has} that it is a rate of: "
                f"{FITTED + JUDGED} are the fewest, {FITTED} to fit and {JUDGED} to judge. Join "
                "the group with another one, add rows of it, or leave the promise out."
            )
    return {rate: mask & taken for rate, mask in found.items() if (mask & taken).sum() < THIN}


def _check_thin(thin, test, held):
    """Refuse test rows that leave a promised rate without rows."""
    for rate, mask in (thin or {}).items():
        if (left := int((mask & ~test).sum())) < FITTED:
            raise CounterweightError(
                f"{held} leaves {left} of the {int(mask.sum())} rows that {rate} is a rate of for "
                f"the fit, which needs {FITTED}: choose it so that more are left, or let the split "
                "be drawn (leave test_rows out)."
            )


def _held_out(test_share, taken, users, rng, thin=()):
    """Mask of the test rows: a share of those taken, drawn; of users whole ones.

    Drawn again while rates that are `thin` lack rows on either side.
    """
    for _ in range(DRAWN if thin else 1):
        test = _drawn_share(test_share, taken, users, rng)
        sides = [(mask & ~test, mask & test) for mask in (thin or {}).values()]
        if all(fit.sum() >= FITTED and own.sum() >= JUDGED for fit, own in sides):
            return test
    raise CounterweightError(
        f"None of {DRAWN} splits leaves rows on both sides for each of {listed(thin)}, of which "
        "there are few: join groups of few people, or leave promises about them out."
    )


def _drawn_share(test_share, taken, users, rng):
    order = rng.permutation(len(taken))
    order = order[taken[order]]
    if users is not None:
        # In the order in which each is drawn first, all rows of a user together.
        _, first, place = np.unique(users[order], return_index=True, return_inverse=True)
        order = order[np.argsort(first[place], kind="stable")]
    test = np.zeros(len(taken), bool)
    test[order[: int(test_share * len(order))]] = True
    if users is not None:
        # The user in the middle of whom the share ends is not held out.
        test &= ~np.isin(users, users[~test & taken])
    return test


def _outcomes(frame, outcome, targets, selected, seen, repeat):
    """Outcomes of all rows by target; refused where the labeled ones are of one class."""
    outcomes = {}
    for target in targets:
        population = np.ones(len(frame), bool) if target == "general" else ~selected
        values = outcome(frame, population)
        classes = np.unique(values[seen])
        if len(classes) < 2:
            raise CounterweightError(
                f"The {int(seen.sum())} labeled rows of repeat {repeat} have one class only "
                f"({', '.join(map(str, classes)) or 'no rows'}): no classifier can be learned; "
                "loosen the labeling rule or correct the outcome."
            )
        outcomes[f"y_{target}"] = values
    return outcomes


def _checked_selection(selected, rows, complete):
    """Mask of the labeled rows: some, and not all unless the rule may label every row."""
    selected = np.asarray(selected, bool)
    if selected.shape != (rows,):
        raise CounterweightError(
            f"The labeling rule gave {selected.size} answers for {rows} rows: it must say of "
            "each row whether it is labeled."
        )
    if not selected.any():
        raise CounterweightError(
            f"No row is labeled (0 of {rows}): loosen the options of the labeling rule."
        )
    if selected.all() and not complete:
        raise CounterweightError(
            f"All {rows} rows are labeled, so there is nothing to correct: tighten the options "
            "of the labeling rule."
        )
    return selected


def check_features(features):
    """Refuse features that no density can be fitted to."""
    if features.empty:
        raise CounterweightError("No row is left after the feature recipe: check the raw data.")
    check_finite(features)
    values = features.drop(columns="row")
    numbers = values.to_numpy(dtype=float)
    constant = values.columns[np.ptp(numbers, axis=0) == 0]
    if len(constant):
        raise CounterweightError(
            f"Feature {', '.join(constant)} has one value in all {len(values)} rows: leave it out, "
            "since it says nothing and makes every covariance singular."
        )


def size_records(repeat, rows, sizes):
    """Metric records of the numbers of a repeat by name, each with all its rows."""
    return [
        {"repeat": repeat, "metric": metric, "value": value, "rows": rows}
        for metric, value in sizes.items()
    ]


def describe_labels(labels, hidden, dropped, before=None):
    """Sizes and class shares of each repeat, as metric records.

    Of what `labeled_repeats` gave, of one repeat or more; `dropped` rows the feature recipe left
    out. Of a log that dropped zeros `before` is how many rows there were, 0 where nobody says so:
    its share of ones is then that of these rows, and errs by what was dropped by chance alone.
    """
    records = []
    targets = [name.removeprefix("y_") for name in labels.columns if name.startswith("y_")]
    # Sets are told by the outcome of everybody, or the only one of a study of one target.
    known = "y_general" if "general" in targets else f"y_{targets[0]}"
    for repeat, part in labels.groupby("repeat"):
        truth = hidden.loc[part.index]
        roles = ("labeled", "unlabeled", "test")
        groups = {role: (part["role"] == role).to_numpy() for role in roles}
        sizes = {f"rows_{role}": int(mask.sum()) for role, mask in groups.items()}
        sizes |= {"rows_all": len(part), "rows_dropped": dropped}
        records += size_records(repeat, len(part), sizes)
        outcome = truth[known].to_numpy(dtype=float, na_value=np.nan)
        for column in (name for name in part.columns if name.startswith("in_")):
            mask = part[column].to_numpy()
            place = {"part": column.removeprefix("in_"), "rows": int(mask.sum())}
            counts = {"rows": float(mask.sum()), "positives": float(np.nansum(outcome[mask]))}
            records += [
                {"repeat": repeat, "metric": f"sample_{what}", "value": count} | place
                for what, count in counts.items()
            ]
        groups["all"] = np.ones(len(part), bool)
        weight = 1.0 / part["keep_rate"].to_numpy()
        for target in targets:
            tested = groups["test"] & ((part["selected"] == 0) | (target == "general"))
            groups["target"] = tested.to_numpy()
            outcome = truth[f"y_{target}"].to_numpy(dtype=float, na_value=np.nan)
            for group, mask in groups.items():
                # In a table of one's own nobody may know the outcome of a row.
                mask = mask & ~np.isnan(outcome)
                if not mask.any():
                    continue
                share = np.average(outcome[mask], weights=weight[mask])
                users = truth["user"].to_numpy()[mask] if "user" in truth else None
                moved = group_sums((weight * (outcome - share))[mask], users)
                error = np.sqrt((moved**2).sum()) / weight[mask].sum()
                if group == "all" and before is not None:
                    share, error = _share_of_log(outcome[mask], weight[mask], before)
                place = {"repeat": repeat, "target": target, "part": group}
                told = {"value": share, "rows": int(mask.sum()), "standard_error": error}
                records.append({"metric": "positive_share"} | place | told)
    return records


def _share_of_log(outcome, weight, before):
    """Share of ones (N,) among all rows of a log that kept them and dropped zeros, its error.

    A row was kept by a draw of its own, with the chance 1 / `weight`, as Horvitz and Thompson have
    it; of `before` rows that are counted there is no error.
    """
    if before and (outcome == 0).any():
        return outcome.sum() / before, 0.0
    share = np.average(outcome, weights=weight)
    return share, np.sqrt(weight * (weight - 1) @ (outcome - share) ** 2) / weight.sum()


def prepared_rows(job, known=None, *, ordered=False):
    """The table of a labeling job, its features, and the rules to label its rows by.

    The job has ``input.table``, perhaps ``input.columns``, and, in ``given``, ``seed``, ``stream``
    and the rules of `counterweight.plan.jobs.labeling_of`. `known` is the file of what is known of
    a generated data set; none where it is empty. Gives the prepared table, the features of the rows
    that the recipe keeps, what is known, and rule and outcome with their options filled in. Where
    it is `ordered` features of a table of one's own, rows and columns, stand in the order of what
    is in the table (`by_content`), whatever they are called and however it is written.
    """
    given = job.given
    frame = read_table(job.input.table)
    known = read_table(known) if known else None
    recipe, outcome, rule = labeling_rules(given)
    rng = generator(given["seed"], given["stream"], 0, "noise")
    columns = getattr(job.input, "columns", None) if given.get("roles") else None
    outcome_column = {} if columns else {"outcome": given["outcome"]["options"].get("column")}
    report = recorded_columns(job) if columns else None
    shown = feature_frame(frame, report)
    if report is not None:
        _check_named(given["features"]["options"], report)
    elif getattr(job.input, "columns", None):
        tell_leaks(frame, outcome, given, job.log)
    if given.get("user"):
        # Who somebody is tells nothing of others.
        shown = shown.drop(columns=given["user"], errors="ignore")
    rows = frame["row"].to_numpy()
    if ordered and columns:
        order, names = by_content(frame, [*shown], given["roles"].get("id"))
        rows, shown = rows[order], shown[["row", *names]]
    features = recipe(shown, rng, **outcome_column)
    if ordered and columns:
        at = pd.Index(features["row"]).get_indexer(rows)
        features = features.iloc[at[at >= 0]].reset_index(drop=True)
    return frame, features, known, rule, outcome


def feature_frame(frame, columns):
    """The columns that features are made of, by a column report; all where there is none."""
    if columns is None:
        return frame
    names = features_of(columns)
    if not names:
        raise CounterweightError(
            "No column is left as a feature: see the column report; insist on columns by "
            "columns.keep, or give a table with more of them."
        )
    return frame[["row", *names]]


def _check_named(options, report):
    """Refuse a recipe that names columns which the report does not take for features."""
    others = report[report["use"] != "feature"].set_index("column")["why"]
    for key in ("columns", "only"):
        for name in options.get(key) or ():
            if name in others:
                raise CounterweightError(
                    f"features.{key} names {name!r}, which is no feature "
                    f"({without_advice(others[name])}): take it from there, or name it under "
                    "columns.keep."
                )


def tell_leaks(frame, outcome, given, log):
    """Warn of features that give the outcome away, in a study by hand of a table of one's own.

    There no column has a role, so that none is left out; the rule is that of all families.
    """
    told, options = given["outcome"]["options"].get("column"), given["features"]["options"]
    away = {"row", told, given.get("user"), *options.get("drop", ())}
    named = {*options.get("columns", ()), *options.get("only", ())}
    values = pd.array(outcome(frame, np.ones(len(frame), bool)), dtype="Float64")
    secret = learnt("outcome", values.to_numpy(float, na_value=np.nan))
    if not secret.known.any():
        return
    for name in frame.columns:
        if name in away or (named and name not in named):
            continue
        text = not pd.api.types.is_numeric_dtype(frame[name])
        own = frame[name]
        own = level_counts(own)[2] if text else own.to_numpy(dtype=float, na_value=np.nan)
        if why := secret.judged(own)[0]:
            log.warning(
                "The feature %r: %s. Leave it out by features.drop unless it is known before the "
                "outcome.",
                name,
                without_advice(why),
            )


def write_rows(job, features, labels, truth, layout=None):
    """Write what a labeling job leaves: features, labels (in a layout, if any) and the truth.

    Categories that a recipe declares (`declare_categories`) are kept beside the features.
    """
    _write_features(job, features)
    write_table(job.output.labels, labels, layout)
    write_table(job.output.truth, truth)


def write_repeats(job, features, repeats, describe):
    """Write what `write_rows` does, of which labels and truth come a repeat at a time.

    One repeat is held in memory; the bytes are those of all repeats written at once. `repeats` are
    pairs of data frames, of the same columns each; gives what ``describe(labels, truth)`` said of
    each.
    """
    import pyarrow as pa

    _write_features(job, features)
    told, writers = [], []
    with contextlib.ExitStack() as files:
        for part in repeats:
            tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in part]
            if not writers:
                for path, table in zip((job.output.labels, job.output.truth), tables, strict=True):
                    layout = [(field.name, str(field.type)) for field in table.schema]
                    writers.append(files.enter_context(parquet.writing(path, layout)))
            for writer, table in zip(writers, tables, strict=True):
                columns = zip(table.column_names, table.combine_chunks().columns, strict=True)
                writer.write({name: column.chunk(0) for name, column in columns})
            told.append(describe(*part))
    return told


def _write_features(job, features):
    declared = {name: features.attrs[name] for name in ("categories",) if name in features.attrs}
    write_table(job.output.features, features, facts=declared)
