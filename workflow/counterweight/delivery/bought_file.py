"""Rows to label as they come back, in a file or in a frame: whose outcome was bought, by what
chance; and the events of a log whose rewards may be blank."""

import contextlib
import logging
import re
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd

from counterweight.datasets.own_table import typed_like, typed_table
from counterweight.errors import CounterweightError, Shown, listed
from counterweight.labeling.columns import free_name
from counterweight.numerics.checks import pandas_frame
from counterweight.numerics.coins import canonical_ids
from counterweight.plan.components import declared_assumption
from counterweight.tables.parquet import read_table
from counterweight.tables.saved_form import FORMULA
from counterweight.tables.table_reader import read_columns

#: Columns of rows to label beside the id and the outcome.
COLUMNS = ("order", "chance", "reason", "plan")
#: Labels below which nothing is said.
LEAST = 10
#: Times by which the odds of a class may be below those predicted, where blanks may be that class.
SCARCE = 10
#: Standard errors by which the sum of 1 / chance may miss how many rows there are, and the part of
#: these by which it always may where a draw decided anything.
ERRORS, SLIGHT = 4, 0.05
#: Parts by which numbers of a plan may differ: what plans are told apart by has seven digits.
ROUNDED = 1e-6
#: What to do where the file is not there.
ABSENT = "correct the path under collected"
#: Digits as letters, which no spreadsheet takes for a number.
LETTERS = str.maketrans("0123456789", "ghijklmnop")
#: What tells plans apart, by the first letters of their names.
DIGEST = 12

log = logging.getLogger("counterweight")


def in_letters(digest):
    """Hexadecimal digits as letters: a to f stay, 0 to 9 are g to p."""
    return digest.translate(LETTERS)


def _is_plan(name, other):
    """Whether two names are of one plan; those of version 1.0.0 do not say from how many rows."""
    return in_letters(name)[:DIGEST] == in_letters(other)[:DIGEST]


def plan_name(digest, rows):
    """What a plan is called: by what tells it apart, and from how many rows it drew."""
    return in_letters(digest[:DIGEST] + str(rows))


def _check_grown(plan, size, lack):
    """Refuse labels where many of the rows (N = `size`) came after the plan of this name was made.

    Few of them are told: who had no chance to be asked is taken to be like the others.
    """
    told = re.fullmatch(f"[a-p]{{{DIGEST}}}([g-p]+)", str(plan))
    drew = int(told[1].translate({new: old for old, new in LETTERS.items()})) if told else size
    if drew >= size:
        return
    text = (
        f"The labels were drawn from {drew:,} rows {lack}, and there are {size:,} now: those that "
        f"came since ({size - drew:,}) had no chance to be asked"
    )
    if size - drew > SLIGHT * size:
        raise CounterweightError(
            f"{text}. Leave them out of the table, or have a plan of them (collect) and buy its "
            "labels."
        )
    log.warning("%s, and are taken to be like the others", text)


def as_columns(outcome):
    """The column of an outcome, or several, as a list."""
    return [outcome] if isinstance(outcome, str) else list(outcome)


def column_names(person, outcome):
    """Names of `COLUMNS` beside an id and an outcome, or several, of these names."""
    taken = (person, *as_columns(outcome))
    return {name: free_name(name, taken) for name in COLUMNS}


@dataclass
class Bought:
    """Rows of the file, (K,): places in the table, outcomes, NaN where blank, and chances.

    ``plan`` is what the file says of the plan that drew it, "" where it says nothing; ``shown`` are
    the outcomes as they are written, ``told`` those of `COLUMNS` that are there.
    """

    path: str
    ids: list
    rows: np.ndarray
    y: np.ndarray
    chance: np.ndarray
    plan: str
    shown: list
    told: dict

    @property
    def known(self):
        """Rows of the file whose outcome is filled in, (K,)."""
        return ~np.isnan(self.y)

    def texts(self, rows):
        """What is filled in for rows of the table; "" where nothing is."""
        known = dict(zip(self.rows.tolist(), self.shown, strict=True))
        return [known.get(row, "") for row in np.asarray(rows).tolist()]

    def filled(self, rows):
        """A callable of places (K,) among `rows` (N,) of the table to what is filled in there."""
        return lambda at: self.texts(rows[at])

    def drawn_by(self, plan):
        """Whether the file says that this plan drew it."""
        return _is_plan(self.plan, str(plan["plan"].iloc[0]))

    def check_explored(self, plan):
        """As `check_plan`, of decisions by chance: another plan than now's had its own chances."""
        if self.drawn_by(plan):
            self.check_plan(plan, fixed=True)

    def check_plan(self, plan, fixed=False):
        """Refuse labels of another plan, that nobody drew, or whose order or chance was changed.

        `fixed` says that no budget moves the chances; see `refuse_changed`.
        """
        if not self.drawn_by(plan):
            digest = str(plan["plan"].iloc[0])
            raise CounterweightError(
                f"{self.path} was drawn by another plan ({self.plan or 'it names none'}) than the "
                f"table, its models and the key make now ({digest}): leave collect out to have the "
                "answer by the chances in the file, or go back to the table and the key of then."
            )
        at, has = np.searchsorted(plan["row"].to_numpy(), self.rows), f"{self.path} has"
        drawn = plan["drawn"].to_numpy()[at]
        refuse_undrawn(has, self.ids, drawn, "rows", None if fixed else "collect.budget")
        refuse_changed(has, self.ids, self.told, plan, at, fixed)


def read_bought(path, given, data, frame, coded=None):
    """The `Bought` labels of a file, with the settings of a job, for the rows of a table.

    ``coded(path, table, column)`` gives outcomes (K,), NaN where blank, and as they are written; by
    default as the table has them. The column of outcomes may be a list, of several.
    """
    person, outcome = given["id"], given["outcome"]["options"]["column"]
    path, names, outcomes = str(path), column_names(person, outcome), as_columns(outcome)
    table = read_columns(path, absent=ABSENT, nameless=True, reading=given["reading"])
    for name in (person, *outcomes, names["chance"]):
        if name not in table.column_names:
            raise CounterweightError(
                f"{path} has no column {name!r}; it has {listed(table.column_names, 20)}: give "
                "the file collect.csv with its outcome column filled in, other columns as they are."
            )
    told = table[person].to_pandas().to_numpy(dtype=object)
    if table.num_rows and isinstance(told[0], str):
        told = [re.sub(FORMULA_MARK, "", one) if isinstance(one, str) else one for one in told]
    ids = canonical_ids(told, column=person, people=f"labels in {path}")
    rows = _places(path, ids, person, frame, data)
    y, shown = (coded or _as_table(given, data, frame))(path, table, outcome)
    known = ~np.isnan(y)
    if known.sum() < LEAST:
        raise CounterweightError(
            f"{path} has {int(known.sum())} outcomes in the column "
            f"{' and '.join(map(repr, outcomes))}, and {LEAST} are needed at least: fill in more, "
            "or leave collected out until then."
        )
    told = {
        name: [text.strip() for text in written(table, column)]
        for name, column in names.items()
        if column in table.column_names
    }
    plan = _one_plan(path, ids, told.get("plan", []))
    chance = _chances(path, ids, told["chance"], names["chance"])
    return Bought(path, ids, rows, y, chance, plan, shown, told)


#: An apostrophe before what a spreadsheet would compute; see `counterweight.tables.saved_form`.
FORMULA_MARK = "^'(?=" + FORMULA.removeprefix("^") + ")"


def _places(path, ids, person, frame, data):
    """Places of ids among the rows without an outcome."""
    of_id = dict(
        zip(canonical_ids(frame[person], column=person, people="table"), data.rows, strict=True)
    )
    strange = [text for text in ids if text not in of_id]
    if strange:
        zeros = [text for text in strange if any(one.lstrip("0") == text for one in of_id)]
        advice = (
            "spreadsheets drop zeros in front, so put them back"
            if zeros
            else "correct them, or take these rows out"
        )
        raise CounterweightError(
            f"{path} has {len(strange)} ids in {person!r} that the table does not have (first: "
            f"{strange[0]!r}): {advice}."
        )
    rows = np.array([of_id[text] for text in ids], int)
    seen = data.labeled[np.searchsorted(data.rows, rows)]
    if seen.any():
        raise CounterweightError(
            f"{path} has {int(seen.sum())} rows whose outcome the table knows (first: "
            f"{ids[int(np.argmax(seen))]!r}): bought labels are of rows without one, and stand in "
            "their file alone, so take them out of one of the two."
        )
    return rows


def _as_table(given, data, frame):
    """How outcomes are read as the table's are; see `read_bought`."""

    def coded(path, table, column):
        values = typed_as_table(path, table.select([column]), column, data, given["reading"])
        shown = written(table, column)
        values = values.to_numpy(dtype=object, na_value=None)
        blank = np.array([one is None or one != one for one in values], bool)
        if not data.binary:
            y = np.full(len(values), np.nan)
            y[~blank] = values[~blank].astype(float)
            return y, shown
        seen, words = frame[column].to_numpy(dtype=object, na_value=None), {}
        for code in (0, 1):
            own = seen[data.labeled & (data.y == code)].tolist()
            words |= {one: float(code) for one in own if one is not None}
        missing = given["outcome"]["options"].get("missing") or []
        missing = {str(one) for one in (missing if isinstance(missing, list) else [missing])}
        blank |= np.array([text.strip() in missing for text in shown], bool)
        return as_codes(path, column, values, words, blank, shown), shown

    return coded


def written(table, column):
    """Values of a column as they are written, "" where there is none."""
    return ["" if one is None else str(one) for one in table[column].to_pylist()]


def as_codes(path, column, values, words, blank, shown):
    """Numbers of outcomes (K,) by what they are called, NaN where blank."""
    y = np.array([words.get(one, np.nan) for one in values], float)
    wrong = np.flatnonzero(np.isnan(y) & ~blank)
    if len(wrong):
        known = sorted({str(one) for one in words})
        raise CounterweightError(
            f"{path} has {len(wrong)} outcomes in {column!r} that the table does not know (first: "
            f"{shown[wrong[0]]!r}; it has {listed(known, 8)}): write one of those, or nothing "
            "where it could not be found out."
        )
    y[blank] = np.nan
    return y


def typed_as_table(path, table, column, data, reading):
    """Values of a column as the table's; numbers also where a spreadsheet wrote them otherwise."""
    types, told = {column: data.types[column]}, {"needed": [column], "forms": data.forms}
    try:
        return typed_like(path, table, types, reading=reading, **told)[column]
    except CounterweightError:
        with contextlib.suppress(CounterweightError):
            if types[column] == "number":
                found = typed_table(path, table, columns={"numbers": [column]})
                return found.frame[column].astype(float)
        raise


def _one_plan(path, ids, plans):
    """The plan that the rows (K,) of a file name, "" where they name none."""
    counts = pd.Series(plans, dtype=object).value_counts()
    if len(counts) < 2:
        return plans[0] if plans else ""
    main = next(name for name in counts.index if name)
    if "" in counts.index:
        raise CounterweightError(
            f"{path} has {counts.loc['']} rows without a plan (first: {ids[plans.index('')]!r}), "
            f"beside {counts.loc[main]} that the plan {main} drew: rows cannot be chosen by hand, "
            "so take them out."
        )
    other = next(at for at, name in enumerate(plans) if name != main)
    raise CounterweightError(
        f"{path} has rows of {len(counts)} plans, {counts.loc[main]} of {main} and "
        f"{len(plans) - counts.loc[main]} of others (first: {ids[other]!r}, of {plans[other]}): "
        "give those of one."
    )


def _number(text):
    """A number and half a unit of its last digit, whatever a spreadsheet made of its point."""
    text = str(text).strip().replace(",", ".")
    try:
        return float(text), 0.5 * 10.0 ** Decimal(text).as_tuple().exponent
    except (ArithmeticError, TypeError, ValueError):
        return np.nan, np.nan


def _chances(path, ids, texts, name):
    """Chances of the rows of the file."""
    chance = np.array([_number(text)[0] for text in texts])
    wrong = ~((chance > 0) & (chance <= 1))
    if wrong.any():
        by_hand = "; rows that were added by hand have none, so take them out" * ("" in texts)
        raise CounterweightError(
            f"{path} has {int(wrong.sum())} rows whose {name!r} is no chance from above 0 to 1 "
            f"(first: {ids[int(np.argmax(wrong))]!r}): leave that column as it was in "
            f"collect.csv{by_hand}."
        )
    return chance


def asked_alone(size, at, chance, lack="without an outcome", made=None, plan=""):
    """Who of rows (N,) was asked and by what chances (N,), where the places (K,) of a file say all.

    Refused are chances that those who were asked cannot have had: one over them sums to about N,
    beyond `ERRORS`. `lack` is what the rows are without, none where a file may be of some of them.
    `made` (K,) are offers, whose chance is that of the offer, too: all of them stand for N rows or
    more, those of one for no more. `plan` is what the file calls the plan that drew them.
    """
    if lack:
        _check_grown(plan, size, lack)
    weight = 1 / chance[(chance > 0) & (chance <= 1)]
    kinds = [weight] if made is None else [weight[made == one] for one in np.unique(made)]
    wrong = [weight] if weight.sum() < size and _unlikely(weight, size) else []
    wrong += [one for one in kinds if one.sum() > size and _unlikely(one, size)]
    if wrong and lack:
        one = " and made one offer" * (len(wrong[0]) < len(weight))
        raise CounterweightError(
            f"The {len(wrong[0])} rows that were asked{one} stand, by their chances, for some "
            f"{wrong[0].sum():,.0f} rows {lack} (the sum of 1/chance), and there are {size:,}: "
            "give the chance by which each was drawn among all of them, and leave rows without an "
            "answer in the file, blank. Where buying stopped before the end of a plan, give the "
            "plan (collect), too, or leave its other rows in the file."
        )
    drawn, chances = np.zeros(size, bool), np.ones(size)
    drawn[at], chances[at] = True, chance
    return drawn, chances


def _unlikely(weight, rows):
    """Whether the sum of 1 / chance, of rows asked, is off from how many there are beyond chance.

    A row has the variance 1 / chance - 1. Where the sum is too small the rows that it lacks count
    as the rarest of those asked, where it is too large the variance is in parts of it.
    """
    total, own = weight.sum(), weight @ (weight - 1)
    lacking = (rows - total) * (weight.max() - 1)
    error = np.sqrt(own + lacking if total < rows else own * rows / total)
    return abs(total - rows) > max(ERRORS * error, SLIGHT * rows * (error > 0))


def refuse_changed(has, ids, told, plan, at, fixed=False):
    """Refuse rows (K,) whose order or chance is not that of the plan (N,) that drew them.

    `has` begins the sentence, `told` are the ``order`` and the ``chance`` of the rows as they are
    written, if they are there, `at` (K,) their places in the plan. `fixed`: chances are those of
    the plan whatever its budget.
    """
    own, blank = plan.iloc[at], [""] * len(at)
    order, (chance, half) = (
        np.array([_number(one) for one in told.get(name, blank)]).reshape(-1, 2).T
        for name in ("order", "chance")
    )
    offer = own["offer_chance"].to_numpy() if "offer_chance" in own else np.ones(len(at))
    half = half + ROUNDED * chance
    moved = _order_moved(order[0], own, plan)
    ends = (chance - half) / offer, (chance + half) / offer
    wrong = moved | _chance_moved(*ends, own, plan, fixed)
    if wrong.any():
        first = int(np.argmax(wrong))
        said = f"chance {chance[first]:.4g} (in the plan {(own['chance'] * offer).iloc[first]:.4g})"
        if moved[first]:
            said = f"order {order[0][first]:.0f} (in the plan {own['order'].iloc[first]})"
        raise CounterweightError(
            f"{has} {int(wrong.sum())} rows whose order or chance is not that of their plan, first "
            f"{list(ids)[first]!r} with {said}: a column was sorted or changed alone, so fill in "
            "the file of the plan anew and leave its other columns as they are."
        )


def _order_moved(order, own, plan):
    """Which orders (K,) are not those of these lines of a plan; what is no number says nothing."""
    places, told = np.sort(plan["place"].to_numpy()), order % 1 == 0
    there = told & (order >= 1) & (order <= len(places))
    other = places[np.where(there, order, 1).astype(int) - 1]
    return told & ~(there & np.isclose(other, own["place"], rtol=ROUNDED, atol=0))


def _chance_moved(low, high, own, plan, fixed):
    """Which chances (K,), known to lie between two numbers, are not those of these lines of a plan.

    A chance is ``min(1, t size)``. It may be of a smaller budget, by which the row was drawn, too:
    t is then the place of a row behind it or, where budgets are no number of rows, above its own.
    """
    places = np.append(np.sort(plan["place"].to_numpy()), np.inf)
    sure, now = (plan["chance"] >= 1).to_numpy(), (plan["chance"] / plan["size"]).to_numpy()
    now = np.inf if sure.all() else now[~sure].max()
    low, high = low / own["size"].to_numpy(), np.where(high >= 1, np.inf, high / own["size"])
    if fixed:
        first = np.maximum(low, now)
    elif np.isclose(places[:-1], now, rtol=ROUNDED, atol=0).any():
        behind = np.maximum(np.searchsorted(places, np.nan_to_num(low)), own["order"])
        first = places[behind]
    else:
        first = np.maximum(low, own["place"])
    return ~np.isnan(low) & ~(first <= np.minimum(high, now * (1 + ROUNDED)))


def word(value):
    """A group as it is told: whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class ShownPlan(Shown):
    """A plan in Python: how many of its ``people`` are asked; in a notebook the first of ``frame``,
    too."""

    def _shown(self):
        return {"rows to ask": len(self.frame), "of": len(self.people)}

    def _repr_html_(self):
        return super()._repr_html_() + self.frame.head().to_html(index=False, border=0)


def refuse_one_class(found, words):
    """Refuse labels that all are of one class by far more than chance, beside blanks for the other.

    Who marks one class alone leaves a blank for the other: so many blanks that, were they that
    class, its odds would be at least one of `SCARCE` of those predicted, or as many as labels; a
    twentieth of these at least, as fewer move no answer by much. `found` has the labels, `words`
    are the classes. Chance is by what rows were predicted; rows still to come are no blanks.
    """
    seen, p = (values[found.bought] for values in (found.outcome, found.predicted))
    if not len(words) or (seen != seen[0]).any():
        return
    alike = np.where(seen == 1, p, 1 - p).clip(1e-12)
    due = max((1 - alike).sum() / alike.sum() / SCARCE, 0.05)
    if found.refused < min(due, 1) * len(seen):
        return
    if np.log(alike).sum() < np.log(1e-4):
        raise CounterweightError(
            f"All {len(seen)} labels are {str(words[int(seen[0])])!r}, and {found.refused} rows "
            "that were asked have none: by the other rows that is no chance, and one class alone "
            "tells no share. Where a blank stands for the other class, write that class there; else "
            "leave the labels out until some of these rows have one."
        )


def in_order(values, index):
    """Values of rows in the order of an index, of a series that has all of it; others as given."""
    if index is None or not isinstance(values, pd.Series) or values.index.equals(index):
        return values
    if values.index.is_unique and index.is_unique and index.isin(values.index).all():
        return values.loc[index]
    if not values.index.equals(pd.RangeIndex(len(values))):
        raise CounterweightError(
            "The series of groups has another index than the rows without an outcome: give the "
            "column of the frame that has these rows, or an array in their order."
        )
    return values


class ShownAnswers(Shown):
    """Answers that came back, in Python: what they say by `_said`, and how many ``came``."""

    def _said(self):
        return {}

    def _shown(self):
        told = {"answers": int(self.came.sum()), "of rows": len(self.came)}
        return self._said() | told | {"no answer": self.refused, "still to ask": self.waiting}


def without_outcome(frame, person, outcome):
    """Rows of a frame that have no outcome; all where it has no such column."""
    frame = pandas_frame(frame, "people")
    if person not in frame.columns:
        raise CounterweightError(
            f"The frame has no column {person!r}, which says who its rows are; it has "
            f"{listed(frame.columns, 20)}."
        )
    found = frame[frame[outcome].isna()] if outcome in frame.columns else frame
    if not len(found):
        raise CounterweightError(
            "Labels are bought for rows without an outcome, and there is none: leave collect out."
        )
    return found


def filled_in(saved, labels, ids):
    """Places (K,) of labels among the ids of rows, and their outcomes, NaN where blank."""
    labels = pandas_frame(labels, "labels")
    person, outcome = saved.facts["id"], saved.facts["outcome"]
    at = places_in(labels, (person, outcome), ids.tolist())
    values = labels[outcome].astype(object)
    blank = (values.isna() | values.map(lambda one: str(one).strip() == "")).to_numpy()
    y = np.full(len(values), np.nan)
    if saved.binary:
        words = [str(one) for one in saved.classes_]
        codes = values[~blank].map(lambda one: word(one).strip())
        y[~blank] = codes.map(dict(zip(map(word, words), (0.0, 1.0), strict=True)))
        wrong = np.flatnonzero(np.isnan(y) & ~blank)
        if len(wrong):
            raise CounterweightError(
                f"The model does not know the outcome of {len(wrong)} of the labels (first: "
                f"{values.iloc[wrong[0]]!r}; it knows {' and '.join(words)}): correct them, or "
                "leave blank what could not be found out."
            )
    else:
        y[~blank] = pd.to_numeric(values[~blank], errors="coerce")
    if np.isfinite(y).sum() < LEAST:
        raise CounterweightError(
            f"{LEAST} labels are needed at least; filled in: {int(np.isfinite(y).sum())}."
        )
    return at, y


def check_at_random(saved):
    """Refuse to judge missing at random by estimates of a saved model that do not assume it."""
    at_random, _ = declared_assumption()
    if (saved.facts.get("assumes") or {"if": at_random})["if"] != at_random:
        raise CounterweightError(
            "refuted compares bought labels with what missing at random expects, and the estimates "
            "of this model assume something else (weights, tilt): ask one that was made without."
        )


def refuse_undrawn(where, ids, drawn, what="people", budget="the budget"):
    """Refuse labels (K,) that the plan did not draw; `where` begins the sentence."""
    strange = np.flatnonzero(~np.asarray(drawn, bool))
    if len(strange):
        by_hand = {"people": "nobody can", "rows": "rows cannot"}[what]
        more = f", or raise {budget} where an earlier plan was larger" if budget else ""
        raise CounterweightError(
            f"{where} {len(strange)} {what} that the plan does not have (first: "
            f"{list(ids)[strange[0]]!r}): {by_hand} be chosen by hand, so take them out{more}."
        )


def refuse_other(labels, person, outcome, plan, at, fixed=False):
    """Refuse labels (K,) in a frame that say that another plan drew them, or that were changed.

    `plan` are its people (N,), `at` places in it. Columns of labels that are of no plan are let be.
    """
    names = column_names(person, outcome)
    if names["plan"] not in labels:
        return
    ids, own = plan["id"].to_numpy()[at], str(plan["plan"].iloc[0])
    digests = np.array([in_letters(str(one)) for one in labels[names["plan"]]], object)
    plans = f"[a-p]{{{DIGEST},}}"
    of_plans = np.array([bool(re.fullmatch(plans, one)) for one in digests], bool)
    if (other := of_plans & ~np.array([_is_plan(one, own) for one in digests], bool)).any():
        first = int(np.argmax(other))
        raise CounterweightError(
            f"The labels have {int(other.sum())} rows of another plan (first: {ids[first]!r}, of "
            f"{digests[first]}) than this one, {own}: give those of its frame, or make the plan of "
            "then."
        )
    columns = {name: names[name] for name in ("order", "chance") if names[name] in labels}
    told = {name: labels.loc[of_plans, column].tolist() for name, column in columns.items()}
    refuse_changed("The labels have", ids[of_plans], told, plan, at[of_plans], fixed)


def places_in(labels, columns, ids):
    """Places (K,) of the rows of a frame of labels among the ids of those that may be asked.

    `columns` are the names of its id and of what is filled in.
    """
    for name in columns:
        if name not in labels.columns:
            raise CounterweightError(
                f"The labels have no column {name!r}; they have {listed(labels.columns, 20)}: give "
                "the frame of the plan with its outcome column filled in."
            )
    person, places = columns[0], dict(zip(ids, range(len(ids)), strict=True))
    texts = canonical_ids(labels[person].to_numpy(), column=person, people="labels")
    strange = [text for text in texts if text not in places]
    if strange:
        raise CounterweightError(
            f"The labels have {len(strange)} ids in {person!r} that no row without an outcome has "
            f"(first: {strange[0]!r}): correct them, or take these rows out."
        )
    return np.array([places[text] for text in texts], int)


def rewards_read(texts, outcome, where):
    """Rewards (n,) of texts, NaN where blank, by the options of ``logged_reward``."""
    from counterweight.labeling.logs import logged_reward

    texts = [str(one).strip() for one in texts]
    known, y = np.array([one not in ("", "None", "nan") for one in texts], bool), None
    said = [one for one, own in zip(texts, known, strict=True) if own]
    if outcome.get("positive") is None:
        words = {"0": 0.0, "1": 1.0, "0.0": 0.0, "1.0": 1.0, "True": 1.0, "False": 0.0}
        return as_codes(where, outcome["column"], texts, words, ~known, texts)
    y = np.full(len(texts), np.nan)
    if said:
        frame = pd.DataFrame({"row": np.flatnonzero(known), outcome["column"]: said})
        y[known] = logged_reward(frame, np.ones(len(said), bool), **outcome)
    return y


def write_events(path, file, given):
    """Write ids, rewards (NaN where blank) and predictions of a part of a log."""
    from counterweight.evaluation.scored_log import predicted_of
    from counterweight.labeling.log_files import frames_of
    from counterweight.tables.parquet import write_table

    outcome, columns = given["outcome"], list(given["predictions"].values())
    needed = list(dict.fromkeys([given["id"], outcome["column"], *columns]))
    types = dict.fromkeys(needed, "number") | dict.fromkeys(needed[:2], "text")
    parts = []
    for frame in frames_of(str(file), needed, types, None, given["reading"], given["keys"]):
        reward = frame[outcome["column"]].astype(object).where(frame[outcome["column"]].notna(), "")
        told = {"id": frame[given["id"]].astype(object).to_numpy()}
        told["reward"] = rewards_read(reward, outcome, str(file))
        told |= {f"p{at}": predicted_of(frame, name) for at, name in enumerate(columns)}
        parts.append(pd.DataFrame(told))
    whole = pd.concat(parts, ignore_index=True)
    layout = [("id", "string")] + [(name, "float64") for name in whole.columns[1:]]
    write_table(path, whole, layout)
    return len(whole)


class Events:
    """Events of a log: what is predicted of each, and whose reward is known.

    Attributes
    ----------
    ids : list of str (N,)
    reward : array (N,)
        NaN where blank.
    predicted : dict of str to array (N,)
    chance : array (N,)
        The first predictions that are chances, by which labels are drawn.
    tops : dict of float to dict of str to bool array (N,)
        Rows of the highest predictions by their share.
    """

    def __init__(self, job):
        files, given = job.input.sums, job.given
        files = [files] if isinstance(files, str) else list(files)
        table = pd.concat([read_table(path) for path in files], ignore_index=True)
        self.shown, self.reward = table["id"].to_numpy(object), table["reward"].to_numpy()
        self.ids = canonical_ids(self.shown, column=given["id"], people="log")
        names = list(given["predictions"])
        self.predicted = {name: table[f"p{at}"].to_numpy() for at, name in enumerate(names)}
        self.chances = [name for name, p in self.predicted.items() if ((p >= 0) & (p <= 1)).all()]
        if not self.chances:
            raise CounterweightError(
                f"collect goes by how likely a reward is, and none of the predictions "
                f"({', '.join(names)}) is a chance from 0 to 1 in all rows: add a column that is."
            )
        self.chance = self.predicted[self.chances[0]]
        self.tops = {
            share: {name: highest(p, share) for name, p in self.predicted.items()}
            for share in given["top"]
        }
        self.blank = np.flatnonzero(np.isnan(self.reward))
        if not len(self.blank):
            raise CounterweightError(
                f"collect is for events without a reward, and {given['outcome']['column']!r} is "
                "filled in in all rows: leave collect and collected out."
            )


def highest(p, share):
    """Mask of the rows of the highest predictions: a share, rows of one prediction never parted."""
    values, place, count = np.unique(p, return_inverse=True, return_counts=True)
    below = np.concatenate([[0.0], np.cumsum(count)])[:-1]
    first = np.flatnonzero(below <= (1 - share) * len(p) * (1 + 1e-12))[-1]
    return place >= first


def costs_of(frame, column):
    """What a label of each row costs."""
    values = frame[column]
    if not pd.api.types.is_numeric_dtype(values):
        raise CounterweightError(
            f"collect.cost names {column!r}, which holds text: give a column of numbers above 0."
        )
    cost = values.to_numpy(dtype=float, na_value=np.nan)
    wrong = ~(np.isfinite(cost) & (cost > 0))
    if wrong.any():
        raise CounterweightError(
            f"collect.cost names {column!r}, which is missing or not above 0 in {int(wrong.sum())} "
            f"rows without an outcome (first: row {frame.index[np.argmax(wrong)]}): fill it in."
        )
    return cost
