"""A filter as a table that is delivered, and what it decides on new candidates."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from counterweight.datasets.own_table import new_rows, typed_like
from counterweight.delivery.saved_models import SavedModel, as_frame, encoded_rows
from counterweight.errors import CounterweightError, in_figures, listed
from counterweight.labeling.columns import forms_of, types_of
from counterweight.labeling.encoding import Feature, TabularEncoder
from counterweight.numerics.checks import pandas_frame, with_columns
from counterweight.numerics.coins import (
    KEY_FILE,
    Key,
    canonical_ids,
    key_of_seed,
    person_uniforms,
    read_key,
)
from counterweight.numerics.geometry import interpolated_rows
from counterweight.numerics.groups import drawn_parts
from counterweight.plan.components import load, reference
from counterweight.tables.parquet import addressed
from counterweight.tables.saved_form import read_sealed, whole, write_sealed

log = logging.getLogger("counterweight")

#: Columns of the table, one row for each fact; docs/filter_format.md says what its parts hold.
FILTER = (
    ("part", "string"),
    ("name", "string"),
    ("of", "string"),
    ("kind", "string"),
    ("text", "string"),
    ("i", "int32"),
    ("j", "int32"),
    ("k", "int32"),
    ("value", "float64"),
)
#: What its rows may be, and what no filter lacks.
NEEDED = ("fact", "feature", "array", "group", "leaf", "share", "release")
PARTS = (*NEEDED, "column", "measure", "held", "type", "range")
#: Facts that are needed to apply it, with their types; and those that had other names in 1.0.0.
_FACTS = {name: str for name in ("selector", "setting", "id", "key", "digest")}
_FACTS |= {"eta": float, "rows": float}
_RENAMED = {"most_distorted": "max_distortion", "least_cell": "min_cell_count"}

#: What is always released beside the id; and what else may be of what is decided.
ACCEPTED = "accepted"
DECIDED = ("leaf", "probability")
#: Column that says who candidates are, where a study names none.
ID = "id"
#: Candidates handled at once.
BATCH = 1 << 16
#: Candidates whose leaves are unlike the training rows' are told: from this distance of the
#: distributions (total variation) and at this probability of chance.
DRIFT, CHANCE = 0.1, 1e-3
#: Of a number of the training rows: share at either end that its range leaves out, and by how many
#: times its length it is then made longer at both ends. It tells no single person's value.
ENDS, ROOM = 0.005, 1.0
#: Share of unlike candidates beyond which nobody is accepted.
MOST_UNLIKE = 0.5


@dataclass(repr=False)
class SavedFilter(SavedModel):
    """A filter with all that is needed to apply it and to say what it discloses.

    Nothing about the group of a candidate is needed to apply it.

    Attributes
    ----------
    facts : dict of str to str or float
        ``selector``, ``setting``, ``eta``, ``id``, ``key`` (digest of the key), ``digest`` and
        ``rows`` are needed; see docs/filter_format.md.
    encoder : counterweight.labeling.encoding.TabularEncoder
        How the features of a candidate are made.
    arrays : dict of str to array
        The fitted proxy; coefficients are in units of the raw features.
    groups, classes : list of str, (K,)
        Name of each group, and its sensitive column.
    base, target : array (K,)
        Shares of the groups among the training rows, and those aimed at.
    mass, acceptance : array (L,)
        Share of the training rows in each leaf, and its probability of acceptance.
    shares : array (L, K)
    measures : dict of (str, str) to float
        By metric and part (train or test).
    release : list of str
        Columns that `accept` gives beside the id.
    held : dict of (str, str, int) to float
        What rows that did not fit the filter tell, by name, kind (value, low, high, bound) and
        number of the group or released column, -1 where it is of none.
    types : dict of str to (str, dict)
        Of a table of one's own: type of each column that candidates must have, and how its texts
        were read.
    ranges : dict of str to (float, float)
        By column where numbers of candidates are like those of the training rows (see `ranges_of`);
        by a column of texts how many of its features hold. Empty in files of 1.0.0.
    """

    KIND, MADE_BY = "filter", "selector"

    facts: dict
    encoder: TabularEncoder
    arrays: dict
    groups: list
    classes: list
    base: np.ndarray
    target: np.ndarray
    mass: np.ndarray
    acceptance: np.ndarray
    shares: np.ndarray
    measures: dict = field(default_factory=dict)
    release: list = field(default_factory=lambda: [ACCEPTED])
    held: dict = field(default_factory=dict)
    types: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)

    def __post_init__(self):
        kind = load("selector", self.facts["selector"])
        names = [feature.name for feature in self.encoder.features_]
        self.proxy = kind.from_arrays(self.arrays, names)

    @property
    def columns(self) -> list[str]:
        """The balanced columns."""
        return [*dict.fromkeys(self.classes)]

    @property
    def sizes(self) -> list[int]:
        """Number of groups of each class."""
        return [self.classes.count(name) for name in self.columns]

    def changes(self) -> dict[str, tuple[float, ...]]:
        """By balanced column, of several: imbalance of all, of the accepted, ends of the change.

        On held-out rows; nothing of files of before.
        """
        keys = (("imbalance_before", "value"), ("imbalance", "value"))
        keys += tuple(("imbalance_change", end) for end in ("low", "high"))
        told = {
            name: tuple(self.held.get((*key, c), np.nan) for key in keys)
            for c, name in enumerate(self.columns)
        }
        return {name: one for name, one in told.items() if one[2] <= one[3]}

    @property
    def rate(self) -> float:
        """Share of the training rows that are accepted, in expectation."""
        return float(self.acceptance @ self.mass)

    @property
    def shifts(self) -> np.ndarray:
        """How far each leaf's share of each group is from the base share, (L, K)."""
        return np.where(self.mass[:, None] > 0, self.shares - self.base, 0.0)

    def shown(self) -> dict:
        aims = zip(self.groups, self.base, self.target, strict=True)
        shares = {
            name: f"{100 * own:.1f} % of all, aim {100 * aim:.1f} %" for name, own, aim in aims
        }
        # As the page and the card: of rows that did not fit it, where there are any.
        rate = self.held.get(("acceptance_rate", "value", -1))
        whose, rate = ("fit", self.rate) if rate is None else ("held-out", rate)
        return {f"accepted of {whose} rows": f"{100 * rate:.1f} %"} | self._balance_shown() | shares

    def _balance_shown(self):
        """The imbalance of the accepted and of all, on held-out rows, and how it changes."""
        names = ("imbalance", "imbalance_before")
        after, before = (self.held.get((name, "value", -1)) for name in names)
        ends = [self.held.get(("imbalance_change", end, -1), np.nan) for end in ("low", "high")]
        if after is None or not ends[0] <= ends[1]:
            return {}
        known = {"imbalance": (before, after, *ends)}
        known |= {f"imbalance of {name}": one for name, one in self.changes().items()}
        told = {}
        for name, (first, last, low, high) in known.items():
            sure = "" if high < 0 or low > 0 else ", not beyond chance"
            change = f"{last - first:+.3f} [{low:+.3f}, {high:+.3f}]"
            told[name] = f"{last:.3f}, {first:.3f} among all: {change}{sure}"
        return told

    def memberships(self, X):
        """Probability of each leaf for rows of features, (n, L)."""
        for setting, member in self.proxy.leaves(X):
            if setting in ("", self.facts["setting"]):
                return interpolated_rows(member, self.facts["eta"])
        raise CounterweightError(
            f"The filter's proxy has no setting {self.facts['setting']!r}: write the filter anew."
        )

    def digest(self):
        """What two filters share only if they decide everybody alike but for what is drawn."""
        told = "\n".join(map(repr, _rows(self)))
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def accept(self, frame: pd.DataFrame, key: object = None) -> pd.DataFrame:
        """Who is accepted: all that a filter releases.

        Parameters and errors as `apply_filter`; candidates unlike the training rows are a warning.

        Returns
        -------
        pandas.DataFrame
            The id, ``accepted``, and what else is released, with the index of `frame`.
        """
        found = apply_filter(frame, self, key)
        tell_drift(self, found)
        return as_frame(self.released(frame, found), frame)

    def collect(
        self, frame: pd.DataFrame, budget: float, *, key: object = None, **options: object
    ) -> object:
        """Plan whose group to ask for, so that what the filter tells rests on no assumption.

        Parameters
        ----------
        frame : pandas.DataFrame
            As of `accept`, with the column of the groups, blank where they are not known.
        budget : float
            People to ask in all.
        key : optional
            As `apply_filter`: people are drawn by it with their ids.
        **options
            ``floor`` and ``batches``, as under ``collect`` in a config.

        Returns
        -------
        GroupPlan
            ``frame`` are the people to ask; ``expected()`` what bound they will give;
            ``with_labels(labels)`` what they say.
        """
        plan = reference("counterweight.delivery.group_plans:GroupPlan")
        return plan(self, frame, key=key, budget=budget, **options)

    def save(self, path: str | Path) -> None:
        """Write the filter as one Parquet table."""
        columns = zip(*_rows(self, whole=True), strict=True)
        names = [name for name, _ in FILTER]
        write_sealed(path, dict(zip(names, map(list, columns), strict=True)), FILTER)

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """See `read_filter`."""
        return read_filter(path)

    def typed(self, frame):
        """Candidates as a file has them, typed as the table of the fit."""
        frame = pandas_frame(frame, "candidates")
        person, columns = self.facts["id"], {*frame.columns}
        known = {name: told for name, told in self.types.items() if name in self.encoder.columns_}
        if not known or not {*known} <= columns or not len(frame):
            return frame  # told by `encoded`
        kind, form = self.types.get(person, ("", {}))
        if kind == "text" and person in columns:
            if "digits" in form:
                known[person] = kind, form
            elif pd.api.types.is_numeric_dtype(frame[person]):
                raise CounterweightError(
                    f"The column {person!r} of the candidates holds numbers, and texts in the "
                    'table of the fit: "007" is another person than 7. Read it as text, as in '
                    f"pd.read_csv(path, dtype={{{person!r}: str}})."
                )
        types, forms = ({name: told[k] for name, told in known.items()} for k in (0, 1))
        made = typed_like("The table of candidates", frame, types, needed=[*types], forms=forms)
        return with_columns(frame, {name: made[name].to_numpy() for name in types})

    def new_rows(self, path, columns, reading=None):
        """Candidates of a file, typed as the table that the column report `columns` is of."""
        person = [self.facts["id"]] if "id" in self.facts else []
        person += [name for name in self.release[1:] if name not in DECIDED]
        needed = [*dict.fromkeys([*self.encoder.columns_, *person])]
        # Who candidates are may stand in a column that the fit had no need of.
        types, forms = dict.fromkeys(person, "text") | types_of(columns), forms_of(columns)
        return pd.concat(
            new_rows(path, types, needed, forms=forms, reading=reading), ignore_index=True
        )

    def released(self, frame, decided):
        """The columns of `accept`, of what `apply_filter` decided on the same candidates."""
        person = self.facts["id"]
        absent = [name for name in self.release[1:] if name not in {*DECIDED, *frame.columns}]
        if absent:
            raise CounterweightError(
                f"The filter releases the column {listed(absent)}, which the candidates do not "
                f"have; they have {listed(frame.columns, 30)}: add it."
            )
        named = {person: frame[person].to_numpy()}
        return named | {
            name: decided[name] if name in (ACCEPTED, *DECIDED) else frame[name].to_numpy()
            for name in self.release
        }

    def unlike(self, X, numbers=None):
        """By which column rows of features (n, d) are unlike the training rows, "" if none.

        The first whose number is outside of its range, or whose text the fit never saw, unless
        rare texts have a feature in common. Of `numbers` (n, columns of numbers), as they were
        read, a blank is outside where the training rows had none: X has a median in its place.
        """
        made = outside(_compared(self.encoder, X), self.ranges).reshape(len(self.ranges), len(X))
        known = [fact.column for fact in self.encoder.numbers_]
        for column, out in zip(self.ranges, made, strict=True):
            if numbers is not None and column in known and not self.encoder.has(column, "blank"):
                out |= np.isnan(numbers[:, known.index(column)])
        names = np.array([*self.ranges, ""], dtype=object)
        return names[np.vstack([made, np.ones((1, len(X)), bool)]).argmax(axis=0)]

    def drift(self, leaves):
        """How far drawn leaves (n,) of candidates are from those of the training rows.

        Total variation between the shares of the leaves, and the probability that candidates like
        the training rows are as far in chi squared.
        """
        from scipy.stats import chi2

        n = len(leaves)
        found = np.bincount(leaves, minlength=len(self.mass)) / n
        held = self.mass > 0
        # The masses are estimates from the training rows: their variance adds to the candidates'.
        spread = self.mass[held] * (1 / n + 1 / self.facts["rows"])
        squares = ((found[held] - self.mass[held]) ** 2 / spread).sum()
        chance = chi2.sf(squares, held.sum() - 1) if held.sum() > 1 else 1.0
        return float(np.abs(found - self.mass).sum() / 2), float(chance)


def _rows(saved, whole=False):
    """Rows of the table: those that decide on candidates, or with the facts before and the rest."""

    def row(part, name="", of="", kind="", text="", i=-1, j=-1, k=-1, value=np.nan):
        return part, name, of, kind, text, i, j, k, float(value)

    for name, given in saved.facts.items() if whole else ():
        told = {"text": given} if isinstance(given, str) else {"value": given}
        yield row("fact", name, kind="text" if "text" in told else "number", **told)
    for column, kind in saved.encoder.columns_.items():
        yield row("column", column, kind=kind)
    for i, made in enumerate(saved.encoder.features_):
        yield row("feature", made.name, made.column, made.kind, made.category, i, value=made.fill)
    for name, values in saved.arrays.items():
        for index, value in np.ndenumerate(np.asarray(values, dtype=float)):
            yield row("array", name, value=value, **dict(zip("ijk", index, strict=False)))
    for i, value in enumerate(saved.acceptance):
        yield row("leaf", kind="acceptance", i=i, value=value)
    if not whole:
        return
    for i, (name, of) in enumerate(zip(saved.groups, saved.classes, strict=True)):
        yield row("group", name, of, "base", i=i, value=saved.base[i])
        yield row("group", name, of, "target", i=i, value=saved.target[i])
    for i, (mass, shares) in enumerate(zip(saved.mass, saved.shares, strict=True)):
        yield row("leaf", kind="mass", i=i, value=mass)
        for j, share in enumerate(shares):
            yield row("share", saved.groups[j], i=i, j=j, value=share)
    for (name, of), value in saved.measures.items():
        yield row("measure", name, of, value=value)
    for i, name in enumerate(saved.release):
        yield row("release", name, i=i)
    for (name, kind, i), value in saved.held.items():
        yield row("held", name, kind=kind, i=i, value=value)
    for name, (kind, form) in saved.types.items():
        yield row("type", name, kind=kind, text=json.dumps(form, ensure_ascii=False))
    for name, ends in saved.ranges.items():
        for kind, value in zip(("low", "high"), ends, strict=True):
            yield row("range", name, kind=kind, value=value)


def read_filter(path: str | Path) -> SavedFilter:
    """A `SavedFilter` from its Parquet table.

    Raises
    ------
    CounterweightError
        When the file is missing, is no table of a filter, or a damaged one.
    """
    columns = read_sealed(path, FILTER, "filter", PARTS).to_pydict()
    with whole(path, "filter"):
        return _filter_of(path, columns)


def _filter_of(path, columns):
    parts = {}
    for row in zip(*columns.values(), strict=True):
        parts.setdefault(row[0], []).append(dict(zip(columns, row, strict=True)))
    absent = [part for part in NEEDED if part not in parts]
    if absent:
        raise CounterweightError(
            f"{path} is no filter: it has no rows of the part {listed(absent)}. Run the study "
            "that delivers the filter to write it anew."
        )
    facts = {
        _RENAMED.get(row["name"], row["name"]): row["text" if row["kind"] == "text" else "value"]
        for row in parts["fact"]
    }
    missing = [name for name in _FACTS if not isinstance(facts.get(name), _FACTS[name])]
    if missing:
        raise CounterweightError(
            f"{path} is a damaged filter: it does not say its {listed(missing)}. Run the study "
            "that delivers the filter to write it anew."
        )
    arrays = {}
    for row in parts["array"]:
        arrays.setdefault(row["name"], []).append(row)
    groups = [row for row in parts["group"] if row["kind"] == "base"]
    ends = {(row["name"], row["kind"]): row["value"] for row in parts.get("range", ())}

    def values(part, kind=None):
        return np.array([row["value"] for row in parts[part] if kind in (None, row["kind"])])

    return SavedFilter(
        facts=facts,
        encoder=TabularEncoder.of(
            Feature(row["name"], row["of"], row["kind"], row["text"], row["value"])
            for row in parts["feature"]
        ),
        arrays={
            name: addressed(
                np.array([[row[axis] for row in rows] for axis in "ijk"]),
                np.array([row["value"] for row in rows]),
            )
            for name, rows in arrays.items()
        },
        groups=[row["name"] for row in groups],
        classes=[row["of"] for row in groups],
        base=values("group", "base"),
        target=values("group", "target"),
        mass=values("leaf", "mass"),
        acceptance=values("leaf", "acceptance"),
        shares=values("share").reshape(-1, len(groups)),
        measures={(row["name"], row["of"]): row["value"] for row in parts.get("measure", ())},
        release=[row["name"] for row in parts["release"]],
        held={(row["name"], row["kind"], row["i"]): row["value"] for row in parts.get("held", ())},
        types={r["name"]: (r["kind"], json.loads(r["text"])) for r in parts.get("type", ())},
        ranges={
            name: (ends[name, "low"], ends[name, "high"]) for name, kind in ends if kind == "low"
        },
    )


def _compared(encoder, X):
    """What the ranges are of, by column: its numbers, or how many features of its texts hold."""
    places = {}
    for at, feature in enumerate(encoder.features_):
        places.setdefault(feature.column, {}).setdefault(feature.kind == "number", []).append(at)
    return {
        column: X[:, own.get(True, own.get(False))].sum(axis=1) for column, own in places.items()
    }


def ranges_of(encoder, X):
    """Where values of each column of features (n, d) lie; see `ENDS` and `ROOM`.

    All are made longer, to twice the room and on, until few of these rows are outside of any. Of
    a number that nearly all have alike, the room is as large as its values go, as a power of two.
    """
    values, ends, room = _compared(encoder, X), {}, {}
    for column, own in values.items():
        text = encoder.columns_[column] == "text"
        ends[column] = (
            (own.min(), own.max())
            if text
            else np.quantile(own, [ENDS, 1 - ENDS], method="inverted_cdf")
        )
        room[column] = 0.0 if text else ROOM * np.ptp(ends[column])
        if not text and not room[column] and np.ptp(own):  # nearly all alike
            room[column] = 2.0 ** np.ceil(np.log2(np.ptp(own)))
    while True:
        ranges = {name: (low - room[name], high + room[name]) for name, (low, high) in ends.items()}
        if np.any(outside(values, ranges), axis=0).mean() <= 2 * ENDS:
            return {name: (float(low), float(high)) for name, (low, high) in ranges.items()}
        room = {name: 2 * own for name, own in room.items()}


def outside(values, ranges):
    """Which values (n,) of each column lie outside of its range, (columns, n)."""
    return np.array([(values[c] < low) | (values[c] > high) for c, (low, high) in ranges.items()])


def check_like(saved, unlike):
    """Refuse candidates of whom more than `MOST_UNLIKE` are unlike the training rows.

    Then units or columns are others, and what the filter promises is of other people. `unlike` is
    of `SavedFilter.unlike`.
    """
    columns, counts = np.unique(unlike[unlike != ""].astype(str), return_counts=True)
    if counts.sum() <= MOST_UNLIKE * len(unlike):
        return
    worst, count = columns[counts.argmax()], counts.max()
    low, high = saved.ranges[worst]
    blank = "" if saved.encoder.has(worst, "blank") else " or is blank"
    what = f"{worst} lies outside of {in_figures(low)} to {in_figures(high)}{blank}"
    if saved.encoder.columns_[worst] == "text":
        what = f"{worst} is a text that the fit never saw"
    raise CounterweightError(
        f"Nobody is accepted: {counts.sum()} of {len(unlike)} candidates are unlike the rows that "
        f"the filter of the study {saved.facts['study']} was fitted on ({what} "
        f"in {count} of them). Check units and columns, or make the filter anew with such people."
    )


def apply_filter(
    frame: pd.DataFrame, saved: SavedFilter, key: object = None
) -> dict[str, np.ndarray]:
    """Decide on candidates, as a file has them.

    A candidate's leaf is drawn where the tree sends it to several with some probability, then
    it is accepted with the probability of that leaf. Both draws are the person's: keyed hashes
    of the id and of the filter. So the same person gets the same answer alone, in any table
    and in any order, and asking again gains nothing.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each candidate, with the column of ids and those that the filter was fitted
        on; others are passed over.
    saved : SavedFilter
    key : str, Path, Key, int or None
        The key that the filter was made with: its file (`KEY_FILE` where it is None; the variable
        ``COUNTERWEIGHT_FILTER_KEY`` goes before a file); a number is the seed of a shipped study.

    Returns
    -------
    dict of str to array (n,)
        ``id`` (canonical text), ``accepted`` (bool), ``probability`` (of being accepted, over
        both draws), ``leaf`` (that was drawn), ``unlike`` (the column by which somebody is unlike
        the rows of the fit, "" if none; `SavedFilter.unlike`).

    Raises
    ------
    CounterweightError
        When ids are missing or repeated, the key is another one, or a candidate's columns are
        not as those of the table that the filter was fitted on; or when more than half of the
        candidates are unlike its rows.
    """
    return decided(saved.typed(frame), saved, key)


def decided(frame, saved, key=None):
    """As `apply_filter`, of candidates that are typed already."""
    person = saved.facts["id"]
    rows = encoded_rows(frame, saved.encoder)
    if person not in frame.columns:
        raise CounterweightError(
            f"The table of candidates has no column {person!r}, which says who they are: decisions "
            f"are drawn by it. It has {listed(frame.columns, 30)}: name it as in the study."
        )
    ids = canonical_ids(frame[person], column=person)
    key = key_of_filter(key)
    if key.digest != saved.facts["key"]:
        raise CounterweightError(
            f"The key (digest {key.digest}) is not the one that the filter of the study "
            f"{saved.facts['study']} was made with (digest {saved.facts['key']}): with another one "
            "everybody would get another answer. Give that key, or make the filter anew."
        )
    X = rows.dense()
    unlike = saved.unlike(X, rows.numbers)
    check_like(saved, unlike)
    draw, chance = person_uniforms(key.secret, ids, f"filter {saved.facts['digest']}", 2)
    probability, leaf = np.empty(len(X)), np.empty(len(X), "int16")
    for start in range(0, len(X), BATCH):
        part = slice(start, start + BATCH)
        member = saved.memberships(X[part])
        # One leaf after the other: the order of a sum must not depend on the rows.
        probability[part] = (member * saved.acceptance).cumsum(axis=1)[:, -1]
        leaf[part] = drawn_parts(member, draw[part])
    return {
        "id": np.array(ids, dtype=object),
        "accepted": chance < saved.acceptance[leaf],
        "probability": np.minimum(probability, 1.0),
        "leaf": leaf,
        "unlike": unlike,
    }


def key_of_filter(key):
    """The `Key` of a seed or a file; see `apply_filter`."""
    if isinstance(key, Key):
        return key
    if isinstance(key, int) and not isinstance(key, bool):
        return key_of_seed(key)
    if isinstance(key, str) and re.fullmatch(r"[0-9a-fA-F]{32,}", key) and not Path(key).exists():
        raise CounterweightError(
            "key is the text of a key, and has to be the path of the file that holds it: keep the "
            "text out of programs and logs."
        )
    return read_key(KEY_FILE if key is None else key)


def tell_drift(saved, found):
    """Warn of candidates who are not like the training rows, of the answer of `decided`."""
    leaves, unlike = found["leaf"], found["unlike"][found["unlike"] != ""].astype(str)
    if not len(leaves):
        return
    # So many training rows are outside of the ranges, too.
    usual = 2 * ENDS * len(leaves)
    if len(unlike) > max(2 * usual, usual + 3 * np.sqrt(usual) + 1):
        log.warning(
            "%d of %d candidates are unlike the rows that the filter was fitted on, by %s: they "
            "are decided on all the same. Check units and columns.",
            len(unlike),
            len(leaves),
            listed(sorted(set(unlike))),
        )
    distance, chance = saved.drift(leaves)
    if distance > DRIFT and chance < CHANCE:
        log.warning(
            "The candidates are not like the rows that the filter was fitted on: %.0f %% of them "
            "would have to fall into other leaves to be alike. Neither its balance nor what it "
            "tells about groups was measured on such people: check units and columns, or make "
            "the filter anew.",
            100 * distance,
        )


def new_records(saved, found):
    """What a study's page says of new candidates, of the answer of `decided`: metric records.

    ``candidates``, ``accepted``, ``unlike`` (their numbers; ``unlike`` also by column, the part)
    and ``drift``, how many of them would have to fall into other leaves.
    """
    place = {"repeat": 0, "target": "unlabeled", "setting": "", "rows": len(found["leaf"])}
    values = {"candidates": len(found["leaf"]), "candidates_accepted": found["accepted"].sum()}
    values["drift"] = saved.drift(found["leaf"])[0]
    records = [{"metric": name, "value": float(value)} for name, value in values.items()]
    columns, counts = np.unique(found["unlike"].astype(str), return_counts=True)
    by = {column: count for column, count in zip(columns, counts, strict=True) if column}
    records += [
        {"metric": "unlike", "part": column, "value": float(count)}
        for column, count in ({"": sum(by.values())} | by).items()
    ]
    return [place | record for record in records]
