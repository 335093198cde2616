"""What each column of a person's table is used for, and why: decided before anything trains."""

import json
import re
import textwrap
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.labeling.column_statistics import (
    CODES,
    level_counts,
    levels_kept,
    like_names,
    tied_by_values,
)
from counterweight.labeling.columns import (
    IN_COMMON,
    equal,
    ids_again,
    like_codes,
    look_at,
    repeated,
    roles_by_column,
    same_rows,
)
from counterweight.labeling.missing_outcomes import present
from counterweight.labeling.outcome_rules import accepts
from counterweight.labeling.outcome_rules import given as outcome_of
from counterweight.labeling.target_leakage import KEEP, Secret, learnt, of_offers, without_advice
from counterweight.plan.components import columns_by_role
from counterweight.tables.parquet import read_arrow, read_facts, replacing, write_table
from counterweight.tables.table_reader import place_of

#: Roles that no `keep` makes a feature.
NEVER = ("id", "outcome")
#: What a role is called in a sentence.
ROLE_NAMES = {
    "id": "the id of a row",
    "outcome": "the outcome",
    "weight": "the weight of a row",
    "time": "the time, by which rows are split",
    "group": "the group, by which rows are split",
    "labeled": "says whose outcome is seen",
    "collect.cost": "what a label of the row costs",
}
#: Roles of columns that a config names to learn from: features, and refused where they leak.
LEARNT = ("reward_model.by", "scores")
#: Names under which an id may stand, and those of other numbers that only tell rows apart.
_ID = re.compile(r"(^|[\W_])(id|uuid|guid)$|[a-z](Id|ID)$", re.ASCII)
_NUMBERED = re.compile(
    r"(^|[\W_])(id|uuid|guid|key|nr|no|num|number|ref|reference|account|index|row|rownames|phone|"
    r"ssn|unnamed: 0)$|[a-z](Id|ID|No|Nr)$",
    re.ASCII | re.IGNORECASE,
)
#: Roles whose values are groups.
GROUPS = ("balance", "groups")
#: Roles of what a question is about; what is odd about these is told in the terminal, too.
ASKED = ("outcome", "answer", "reward", "offer", *GROUPS)
#: What is said of the column of a group that is only named.
UNPROMISED = (
    "it tells groups that no promise is about, and as a column of groups it is no feature: leave "
    "these groups out, or name the column under columns.keep, if it is to be learned from"
)
#: Why a column is no feature where scores are there to decide by.
ONLY_SCORES = "decisions go by the scores alone"
#: Words for unknown, in small letters.
UNKNOWN = ("unknown", "not known", "not stated", "missing", "unbekannt", "k. a.", "k.a.", "inconnu")


class ColumnFact(NamedTuple):
    """What is known of one column.

    ``role`` is "" for a column without one; ``type`` number, boolean, date or text; ``missing`` a
    share of rows; ``distinct`` the values without what is missing; ``use`` feature, left out or
    role, and ``why`` one sentence, "" of an ordinary feature. ``made`` is what reading made of it;
    ``levels`` and ``pooled`` are of a category: levels of its own, and those that share the level
    other. ``insisted``: named under ``columns.keep`` against a reason to leave it out. ``doubt`` is
    what a person should look at before believing the answers, ``leak`` how it tells what no feature
    may tell, where that is the reason against it.
    """

    column: str
    role: str
    type: str
    missing: float
    distinct: int
    use: str
    why: str = ""
    made: str = ""
    levels: int = 0
    pooled: int = 0
    insisted: bool = False
    doubt: str = ""
    leak: str = ""


class _Column(NamedTuple):
    """A column as the checks read it: floats, or codes of its texts (-1 missing)."""

    name: str
    type: str
    values: np.ndarray
    present: np.ndarray
    words: np.ndarray
    counts: np.ndarray

    @property
    def rows(self):
        return int(self.present.sum())


def column_report(
    frame, types, made, roles, *, secrets=(), once=None, doubts=None, explained=(), keep=()
):
    """Decide of each column whether it is a feature: a `ColumnFact` each, as the table has them.

    The frame has ``row`` first, then typed columns: numbers, booleans as 1/0, dates as days since
    1970-01-01, texts; `types`, `made` and `doubts` say by column what it is, what reading made of
    it, and what reading could not tell for sure. `roles` has the column or columns of a role:
    ``id``, ``outcome``, ``weight``, ``time``, ``group``, ``labeled`` (the columns of its
    condition), and others; none of them is a feature but those of `LEARNT`. `secrets` are what no
    feature may tell, of the rows `once` where they are not of all (see `copied_rows`); `explained`
    the columns of whose codes the config says what they mean, `keep` those to be features whatever
    they look like.
    """
    once = slice(None) if once is None else once
    role_of, doubts = roles_by_column(roles), doubts or {}
    columns = [name for name in frame.columns if name != "row"]
    _check_names(columns, role_of, keep)
    facts, numbers = {}, {}
    for name in columns:
        column, role = _read(name, types[name], frame[name]), role_of.get(name, "")
        doubt = [doubts.get(name), "" if name in explained else _codes(column, role)]
        doubt.append(_spelled_alike(column))
        fact = ColumnFact(
            name,
            role,
            types[name],
            float(1 - column.present.mean()) if len(frame) else 0.0,
            len(column.counts),
            "feature",
            made=made.get(name, ""),
            doubt="; ".join(filter(None, doubt)),
        )
        if role and role not in LEARNT and not (name in keep and role not in NEVER):
            if role == "id":
                fact = _doubted(fact, [one.of_order(column.values[once]) for one in secrets])
            if name in roles.get("groups.unpromised", ()):
                fact = _doubted(fact, [UNPROMISED])
            facts[name] = fact._replace(use="role", why=ROLE_NAMES.get(role, f"has role {role}"))
            continue
        fact, why = _judged(fact, column, secrets, once)
        if not why and column.type == "date" and roles.get("balance"):
            why = (
                "a date, and those of new people are later ones; name it under columns.keep if a "
                "filter is to go by it"
            )
        fact = _decided(fact, why, keep)
        of = column.values[once]
        told = [] if roles.get("group") else [secret.of_groups(of) for secret in secrets]
        if fact.use == "left out":
            told += [secret.of_order(of) for secret in secrets]
        if column.type == "text" and (fact.use == "left out" or why.startswith(NO_LEVELS)):
            told += [tied_by_values(secret, of) for secret in secrets if not any(told)]
        if column.type == "number" and fact.use != "left out":
            told += [like_names(secret, of) for secret in secrets]
        facts[name] = _doubted(fact, told)
        if not why and column.type != "text":
            numbers[name] = column.values[once]
    for secret in secrets:
        for name, why in secret.together(numbers, keep).items():
            facts[name] = _decided(facts[name]._replace(leak=without_advice(why)), why, keep)
            del numbers[name]
        dates = {name: values for name, values in numbers.items() if types[name] == "date"}
        for name, why, doubt in secret.between(dates):
            if why and not facts[name].why:
                facts[name] = _decided(facts[name]._replace(leak=without_advice(why)), why, keep)
                del numbers[name]
            elif name in numbers:
                facts[name] = _doubted(facts[name], [doubt])
    if roles.get("scores"):
        aside = {"use": "left out", "why": ONLY_SCORES, "leak": "", "doubt": ""}
        facts = {name: one if one.role else one._replace(**aside) for name, one in facts.items()}
    outcome, features = roles.get("outcome"), sum(one.use == "feature" for one in facts.values())
    if outcome in facts:
        facts[outcome] = _doubted(facts[outcome], [_too_few(one, features) for one in secrets])
    return [facts[name] for name in columns]


def _too_few(secret, features):
    """That rows whose secret is known are no more than the columns to learn from, or ""."""
    known = int(secret.known.sum())
    if not secret.closely or known > features or known == len(secret.known):
        return ""
    return (
        f"{known} rows have {secret.one}, and {features} columns are learned from: estimates of "
        "the others then stay near the rows that have one; leave out columns that cannot matter "
        "(columns.ignore)"
    )


NO_LEVELS = "no text occurs often enough to learn from"
#: Standard errors by which counts of equal events are put to the side of chance, and up to how
#: many times these are looked at.
SURE, MOST_TIMES = 3.0, 12


def copied_rows(frame, roles):
    """Rows that look like copies of an earlier one, and what is said of them, by the column.

    A mask (n,) and a mapping of the column with most different values to a sentence; no rows and
    nothing where there are none or where the config says who belongs together. Events of a log may
    well be the same, so none is masked; see `_events_again`, of other rows `same_rows`.
    """
    none = np.zeros(len(frame), bool), {}
    if "reward" in roles:
        return none[0], _ids_again(frame, roles) or _events_again(frame, roles)
    if any(roles.get(role) for role in ("group", "user")):
        return none
    found = same_rows(frame, roles)
    if found is None:
        return none
    finest, kind = found
    same = int((np.bincount(kind)[kind] > 1).sum())
    return repeated(kind), {
        finest: f"{same} of {len(frame)} rows {IN_COMMON}: taken for copies, so that none is "
        "judged by what was learned from another, and errors and intervals are those of rows that "
        "differ; leave out all but one, unless as many people were just like that"
    }


def _events_again(frame, roles):
    """What is said of events of a log that are the same in every column but an id of their own, by
    the column with most different values; {} where that may be chance.

    Independent events that agree come in Poisson numbers, of a mean by what they are. So of the
    numbers n_k of kinds of events that are seen k times E[n_k]^2 k / (k + 1) is at most
    E[n_(k-1)] E[n_(k+1)], by the inequality of Cauchy and Schwarz. Copies are seen twice and not
    three times. Each number is put `SURE` standard errors to the side of chance.
    """
    from pandas.util import hash_pandas_object

    # An export that ran twice numbers events anew; an id of users says who acted.
    numbered = roles.get("id") if roles.get("id") != roles.get("user") else None
    names = [name for name in frame.columns if name not in ("row", numbered)]
    rows = hash_pandas_object(frame[names], index=False, categorize=False)
    times = rows.value_counts().to_numpy()
    count = np.bincount(times[times < MOST_TIMES], minlength=MOST_TIMES).astype(float)
    low = np.maximum(count - SURE * np.sqrt(count), 0.0)
    high, k = count + SURE * np.sqrt(count + 1), np.arange(2, MOST_TIMES - 1)
    same = int(times[times > 1].sum())
    by_chance = low[k] ** 2 * k / (k + 1) <= high[k - 1] * high[k + 1]
    if same < 0.01 * len(frame) or by_chance.all():
        return {}
    user = "" if roles.get("user") else ", or if a person has several, name the column as user"
    finest = frame[names].nunique().idxmax()
    return {
        finest: f"{same} of {len(frame)} rows {IN_COMMON}, more often than by chance: if these are "
        "copies (a join, an export that ran twice), leave out all but one"
        f"{user}, for each counts as an event of its own"
    }


def _ids_again(frame, roles):
    """What is said of an id that several rows of a log share, by its column; {} if none does."""
    name, user = roles.get("id"), roles.get("user")
    if not name or name == user:
        return {}
    again = frame[name].duplicated(keep=False) & frame[name].notna()
    told = ids_again(int(again.sum()), len(frame), user)
    return {name: told} if told else {}


def _judged(fact, column, secrets, once):
    """What is known of a column, and why it is no feature by its values or by what it tells."""
    levels = 0
    if column.type == "text":
        levels = levels_kept(column.counts, len(column.present))
        fact = fact._replace(levels=levels, pooled=len(column.counts) - levels)
    why = "" if fact.role in LEARNT else _unlike_a_feature(column, levels)
    if why:
        return fact, why
    judged = [secret.judged(column.values[once]) for secret in secrets]
    why = next((why for why, _ in judged if why), "")
    fact = fact._replace(leak=without_advice(why))
    return fact if why else _doubted(fact, [doubt for _, doubt in judged]), why


def _doubted(fact, told):
    """A fact of a column with what else is to be looked at."""
    return fact._replace(doubt="; ".join(dict.fromkeys(filter(None, [fact.doubt, *told]))))


def _codes(column, role):
    """What looks like a code of unknown among the values, "" where nothing does.

    Of numbers: -9, 99, -999 and the like that stand beyond all others, at a distance of their
    whole range, as the only ones below 0 and well apart, or far more often than others. Of groups:
    a word for unknown.
    """
    rows = column.rows
    if column.type == "text":
        low = [str(word).lower() for word in column.words] if role in GROUPS else []
        found = [at for at, word in enumerate(low) if word in UNKNOWN]
    elif column.type == "number" and rows:
        found = _codes_of_numbers(column.words, column.counts, rows)
    else:
        return ""
    if not found:
        return ""
    codes, count = [_shown(column.words[at]) for at in found], int(column.counts[found].sum())
    if column.type == "number":
        rest = np.delete(column.words, found)
        others = f", and all others are from {rest.min():g} to {rest.max():g}"
    else:
        others = ", and is a value like any other"
    said = codes[0] if len(codes) == 1 else f"[{', '.join(codes)}]"
    return (
        f"{listed(codes)} stand{'s' * (len(codes) == 1)} in {count} of {rows} rows{others}: if "
        f"that means unknown, say columns: {{missing: [{{{column.name}: {said}}}]}}"
    )


def _spelled_alike(column):
    """What is said of texts of a column that differ in capitals and blanks alone, or ""."""
    if column.type != "text" or len(column.words) > 0.5 * column.rows:
        return ""
    alike = {}
    for word in map(str, column.words):
        alike.setdefault("".join(word.split()).casefold(), []).append(word)
    alike = sorted(words for words in alike.values() if len(words) > 1)
    if not alike:
        return ""
    more = f" (and {len(alike) - 1} more)" * (len(alike) > 1)
    return (
        f"{listed(sorted(alike[0]))}{more} differ in capitals or blanks alone, and count as "
        "different: write them alike if they mean the same"
    )


def _codes_of_numbers(values, counts, rows):
    """Places, among different values in order, of those that look like codes of unknown."""
    likely, low, high = like_codes(values), 0, len(values)
    while high - low > 2 and likely[high - 1] and _apart(values, counts, high - 1, low, high, rows):
        high -= 1
    while high - low > 2 and likely[low] and _apart(values, counts, low, low, high, rows):
        low += 1
    return [*range(low), *range(high, len(values))]


def _apart(values, counts, at, low, high, rows):
    """Whether a value at an end stands apart from the others between two places."""
    others = np.r_[low:at, at + 1 : high]
    value, least, most = values[at], values[others[0]], values[others[-1]]
    if counts[at] < 2:
        return False
    gap = least - value if value < least else value - most
    if gap >= max(most - least, 5):
        return True
    if value < 0 and (least, most) == (0, 1) and len(others) == 2 and counts[at] <= 0.05 * rows:
        return True  # beside yes and no
    if value < 0 <= least and gap >= 5 * np.median(np.diff(values[others])):
        return True
    often = counts[at] >= max(0.02 * rows, 5 * np.median(counts[others]))
    return bool(often and len(others) > 4 and (value > most or least >= 0 > value))


def _decided(fact, why, keep):
    """A feature, unless there is a reason and nobody insists on it."""
    if not why:
        levels = "1 rare level" if fact.pooled == 1 else f"{fact.pooled} rare levels"
        return fact._replace(why=f"{levels} pooled as other" if fact.pooled else "")
    reason = without_advice(why)
    if fact.column not in keep:
        if fact.role:
            advice = why[len(reason) + 2 :]
            raise CounterweightError(
                f"The column {fact.column!r} cannot be learnt from ({reason}): take it from "
                f"{fact.role}, or {advice}."
            )
        return fact._replace(use="left out", why=why)
    none = (
        "; no level has rows enough to be told apart"
        if fact.type == "text" and not fact.levels
        else ""
    )
    return fact._replace(why=f"kept as asked; a reason against it: {reason}{none}", insisted=True)


def _check_names(columns, role_of, keep):
    unknown = [name for name in keep if name not in columns]
    if unknown:
        raise CounterweightError(
            f"columns.keep names {listed(unknown)}, no column of the table, which has "
            f"{listed(columns)}: correct the name."
        )
    check_roles(columns, role_of)
    for name in keep:
        if role_of.get(name) in NEVER:
            raise CounterweightError(
                f"Column {name!r} is {ROLE_NAMES[role_of[name]]} and can be no feature: take it "
                "from columns.keep."
            )


def check_roles(columns, role_of):
    """Refuse a role of a column that the table has not; see `roles_by_column`."""
    for name, role in role_of.items():
        if name not in columns:
            near = get_close_matches(str(name), columns, 1, 0.6)
            raise CounterweightError(
                f"{role} names {name!r}, no column of the table"
                + (f" (is it {near[0]!r}?)" if near else "")
                + f"; it has {listed(columns, 30)}: correct the name."
            )


def _read(name, kind, values):
    if kind == "text":
        words, counts, codes = level_counts(values)
        return _Column(name, kind, codes, codes >= 0, words, counts)
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    present = ~np.isnan(numbers)
    words, counts = np.unique(numbers[present], return_counts=True)
    return _Column(name, kind, numbers, present, words, counts)


def _unlike_a_feature(column, levels):
    """Why the values alone make no feature, or ""."""
    if not column.rows:
        return "no value in any row"
    if len(column.counts) == 1 and column.present.all():
        return f"one value in all rows ({_shown(column.words[0])})"
    if column.type == "date" and column.counts.max() >= 0.995 * len(column.present):
        return "nearly all rows have one date"
    if column.type == "text":
        return _unlike_a_category(column, levels)
    if column.type == "number":
        return _number_like_an_id(column)
    return ""


def _shown(value):
    return f"{value:g}" if isinstance(value, float) else textwrap.shorten(str(value), 30)


def _unlike_a_category(column, levels):
    distinct, rows = len(column.counts), column.rows
    some = column.words[:: max(1, distinct // 1000)]
    words = np.mean([len(str(word).split()) for word in some])
    if distinct == rows and rows >= 3 and words < 4:
        return f"unique in every row: looks like an id or a name; {KEEP} not"
    if words >= 4 and distinct > max(0.2 * rows, 5):
        return f"free text, {distinct} different in {rows} rows: {KEEP} no free text"
    if distinct >= 0.95 * rows and distinct > 5:
        return f"unique in nearly every row: looks like an id or a name; {KEEP} not"
    if distinct > 0.5 * rows and distinct > 5:
        return f"{distinct} different texts in {rows} rows, too few rows of each: {KEEP} no name"
    if _ID.search(column.name) and distinct > max(50, 0.1 * rows):
        return f"an id by its name, {distinct} different in {rows} rows: {KEEP} no id"
    if not levels:
        return f"{NO_LEVELS}, none in over {column.counts[0]} rows"
    return ""


def _number_like_an_id(column):
    """Why whole numbers look like an id, or "".

    They count up or fill a range, evenly stepped; or are unique and have the name of an id; or
    are unique, long, of one length and with as many last digits 0 as chance gives.
    """
    distinct, rows, values = len(column.counts), column.rows, column.words
    if rows < 3 or (values % 1 != 0).any():
        return ""
    advice = f"looks like an id; {KEEP} not"
    if distinct == rows:
        unique = "unique in every row"
    elif distinct >= 0.99 * rows:
        unique = "nearly unique"
    elif _ID.search(column.name) and distinct > max(50, 0.1 * rows):
        return f"an id by its name, {distinct} different in {rows} rows: {KEEP} no id"
    else:
        return ""
    # Beyond 2**53 floats are no whole numbers any more; no measurement is that exact.
    steps = np.gcd.reduce(np.diff(np.clip(values, -(2**61), 2**61)).astype(np.int64))
    filled = distinct / ((values[-1] - values[0]) / max(steps, 1) + 1)
    if filled > 0.999 or (filled > 0.6 and rows >= 20):
        return f"{unique}, counts up: {advice}"
    if _NUMBERED.search(column.name):
        return f"{unique}: {advice}"
    digits = np.floor(np.log10(np.maximum(np.abs(values), 1))) + 1
    round_ = (values % 10 == 0).mean()
    if rows >= 50 and digits.min() == digits.max() >= 7 and 0.02 <= round_ <= 0.2:
        return f"{unique}, all of {digits[0]:.0f} digits: {advice}"
    return ""


def report_table(report):
    """The report as columns for a Parquet file or a CSV."""
    columns = {name: [getattr(fact, name) for fact in report] for name in ColumnFact._fields}
    kinds = {"missing": float, "distinct": np.int64, "levels": np.int32, "pooled": np.int32}
    kinds["insisted"] = bool
    return {name: np.array(told, kinds.get(name, object)) for name, told in columns.items()}


def report_lines(report, width=100):
    """The report for a terminal: what was left out and why, kept against advice, then the rest."""
    parts = {
        "To be looked at": [
            fact._replace(why=fact.doubt, made="") for fact in report if fact.doubt
        ],
        "Left out": [fact for fact in report if fact.use == "left out"],
        "Kept as asked": [fact for fact in report if fact.insisted],
        "Features": [fact for fact in report if fact.use == "feature" and not fact.insisted],
        "With a role": [fact for fact in report if fact.use == "role"],
    }
    long = min(26, max([len(fact.column) for fact in report] + [6]))
    head = f"  {'column':<{long}}  {'type':<7} {'missing':>7} {'distinct':>9}  "
    lines = [head + "what was made of it"]
    for title, facts in parts.items():
        if facts:
            lines.append(f"{title} ({len(facts)})")
        for fact in facts:
            name = fact.column if len(fact.column) <= long else fact.column[: long - 1] + "…"
            start = f"  {name:<{long}}  {fact.type:<7} {_percent(fact.missing):>7}"
            start += f" {fact.distinct:>9,}  "
            told = "; ".join(part for part in (fact.why, fact.made) if part)
            wrapped = textwrap.wrap(told, max(width - len(start), 20)) or [""]
            lines.append((start + wrapped[0]).rstrip())
            lines += [" " * len(start) + rest for rest in wrapped[1:]]
    return lines


def _percent(share):
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{share:.1%}" if share else "0"


def tell_columns(job):
    """Decide what the columns of a typed table are, and write it down.

    The job is told ``roles``, ``keep`` and, for messages, ``path`` and ``reading``. Of roles, those
    that are a column or a list of columns are passed on; ``outcome``, ``answer`` and ``reward`` may
    have ``positive``, ``outcome`` has ``kind``, too, and ``labeled`` has ``where``.
    """
    import pandas as pd
    import pyarrow as pa

    told, facts = job.given, read_facts(job.input.table)
    # Whole numbers stay whole where some are missing: in sentences, and in long ids.
    whole = {pa.int64(): pd.Int64Dtype()}
    frame = read_arrow(job.input.table).to_pandas(types_mapper=whole.get)
    roles = columns_by_role(told["roles"])
    _check_filled([name for name in facts["made"] if name not in frame], roles, job)
    check_roles([name for name in frame.columns if name != "row"], roles_by_column(roles))
    _check_ids(frame, roles, told)
    report, copies = report_of(frame, facts, told["roles"], told["keep"])
    for line in report_lines(report):
        job.log.info(line)
    for fact in report:
        lost = fact.use == "left out" and fact.type == "text" and not fact.leak
        lost = lost or CODES in fact.doubt
        if fact.doubt and (fact.role in ASKED or fact.column in copies or lost):
            job.log.warning("%s", look_at(fact.column, fact.doubt))
    columns = report_table(report)
    columns["form"] = [json.dumps(facts["forms"].get(fact.column, {})) for fact in report]
    write_table(job.output.columns, columns)
    with replacing(job.output.csv) as path:
        pd.DataFrame(columns).to_csv(path, index=False)


def report_of(frame, facts, told, keep):
    """The column report of a typed frame, and columns by which rows are copies.

    `facts` are those of `counterweight.datasets.own_table.TypedTable`, `told` and `keep` what the
    config says of its columns.
    """
    roles, types = columns_by_role(told), facts["types"]
    # Rows that a rehearsal drew are what they are.
    again, copies = (None, {}) if facts.get("drawn") else copied_rows(frame, roles)
    # Without copies no row is left out, and none is copied for it.
    once, doubts = ~again if copies else slice(None), facts["doubts"]
    for name, said in copies.items():
        doubts = doubts | {name: "; ".join(filter(None, [doubts.get(name), said]))}
    report = column_report(
        frame,
        types,
        facts["made"],
        roles,
        secrets=secrets_of(frame[once], types, told),
        once=once,
        doubts=doubts,
        explained=[one["column"] for one in told.values() if _explained(one)],
        keep=keep,
    )
    return report, copies


def _explained(role):
    """Whether the config says what the values of a column with a role mean."""
    return isinstance(role, dict) and {"positive", "missing"} & role.keys()


def _check_filled(empty, roles, job):
    """Say which columns are empty in every row; none of them can have a role."""
    for name in empty:
        job.log.info("%s is empty in every row: left out", name)
    for role, names in roles.items():
        for name in [names] if isinstance(names, str) else names:
            if name in empty:
                raise CounterweightError(
                    f"{role} names {name!r}, a column that is empty in every row: put its values "
                    "there, or name another column."
                )


def _check_ids(frame, roles, told):
    """Refuse an id that stands twice: nobody could tell whose an answer is.

    A person of several rows may be told by the column of the id as ``group`` or ``user``; answers
    about a log are not by id.
    """
    name = roles.get("id")
    if not name or name in (roles.get("group"), roles.get("user")) or "reward" in roles:
        return
    again = frame[name].duplicated(keep=False) & frame[name].notna()
    if again.any():
        rows = np.flatnonzero(again)
        value = frame[name].iloc[rows[0]]
        first, second = np.flatnonzero(frame[name] == value)[:2]
        path, reading = told.get("path"), told.get("reading")
        places = [f"row {row} (counted from 0)" for row in (first, second)]
        if path:
            places = [place_of(path, int(row), reading) for row in (first, second)]
        other = ", or name the column as group, too, if a person has several"
        raise CounterweightError(
            f"The id {name!r} is {str(value)!r} in {places[0]} and in {places[1]} ({len(rows)} "
            "rows share theirs with others): an id says who a row is. Leave out all rows of a "
            f"person but one{', drawn at random' if 'offer' in roles else other}."
        )


def secrets_of(frame, types, roles):
    """What no feature of a table may tell, by what its columns are: `roles` as a config has them.

    Outcomes, answers and rewards are told by whatever says them near-perfectly alone, and so are
    groups that a filter balances, since it is not to go by them. An offer, the groups and decisions
    that promises are about, and a logged action are only told by a copy: what they were made from
    is honest.
    """
    found = []
    specs = {
        role: told if isinstance(told, dict) else {"column": told} for role, told in roles.items()
    }
    if "outcome" in roles:
        outcome, _, _ = outcome_of(frame, types, **specs["outcome"])
        labeled = present(frame, types, outcome, **(roles.get("labeled") or {}))
        outcome = np.where(labeled, outcome, np.nan)
        found.append(learnt("outcome", outcome))
    if "answer" in roles:
        offer = _numbers(frame, types, roles["offer"])
        answer = accepts(frame, None, **{"blanks": "unanswered"} | specs["answer"])
        found += of_offers(answer.astype(float), offer)
    if "reward_model.by" in roles:
        found.append(learnt("reward", _numbers(frame, types, **specs["reward"])))
    groups = [(name, False) for name in roles.get("balance") or ()]
    groups += [(name, True) for name in roles.get("groups") or ()]
    for name, copies in groups:
        advice = "be a feature all the same" if copies else "be gone by all the same"
        values = _values(frame, types, name)
        if not copies and types[name] != "text":
            values = np.where(np.isnan(values), -1, np.unique(values, return_inverse=True)[1])
        found.append(Secret(f"group of {name}", values, f"{KEEP} to {advice}", copies=copies))
    for role, what in (("decision", "decision in use"), ("action", "logged action")):
        if roles.get(role) and (role == "decision" or "reward_model.by" in roles):
            values = _values(frame, types, roles[role])
            advice = f"{KEEP} to be a feature all the same"
            found.append(Secret(what, values, advice, copies=True))
    return found


def _values(frame, types, column):
    """A column as floats, or as codes of its texts."""
    if types[column] == "text":
        return level_counts(frame[column])[2]
    return frame[column].to_numpy(dtype=float, na_value=np.nan)


def _numbers(frame, types, column, positive=None, **_):
    """A column as numbers, 1 where it is `positive`; texts that nobody explained are not known."""
    if positive is not None:
        yes = equal(frame[column], positive, text=types[column] == "text").astype(float)
        return np.where(frame[column].isna(), np.nan, yes)
    if types[column] == "text":
        return np.full(len(frame), np.nan)  # where rows are labeled, this is told
    return _values(frame, types, column)
