"""A filter as a table that is given away, and the secret key that its coins are drawn by."""

import hashlib
import json
import logging
import os
import secrets
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from counterweight.datasets.own_table import new_rows, typed_like
from counterweight.delivery.saved_models import SavedModel, as_frame
from counterweight.errors import CounterweightError, listed
from counterweight.labeling.columns import forms_of, types_of
from counterweight.labeling.encoding import Feature, TabularEncoder
from counterweight.models.filters.candidates import encoded
from counterweight.numerics.filters import canonical_ids, drawn_parts, person_uniforms
from counterweight.numerics.geometry import interpolated_rows
from counterweight.plan.components import load
from counterweight.tables.parquet import addressed
from counterweight.tables.saved_form import read_sealed, whole, write_sealed

#: Variable of the environment that holds the key itself, as text.
VARIABLE = "COUNTERWEIGHT_FILTER_KEY"
#: Least characters of a key: shorter ones can be guessed.
LEAST = 16
#: Begins what a digest is taken of, so that it is of use for nothing else.
_PURPOSE = b"counterweight key digest\0"


class Key:
    """A secret that coins are drawn by. It is never printed; `digest` tells keys apart.

    Parameters
    ----------
    secret : bytes
    """

    __slots__ = ("digest", "secret")

    def __init__(self, secret):
        self.secret = bytes(secret)
        self.digest = hashlib.sha256(_PURPOSE + self.secret).hexdigest()[:16]

    def __repr__(self):
        return f"Key(digest={self.digest!r})"


def key_of_seed(seed):
    """The key of a shipped study or a test: anybody who knows the seed knows it.

    Parameters
    ----------
    seed : int
    """
    return Key(b"seed %d" % int(seed))


def read_key(path):
    """A key from the environment, or else from a file.

    Parameters
    ----------
    path : str or Path
        Looked at where the variable `VARIABLE` is not set.

    Returns
    -------
    Key

    Raises
    ------
    CounterweightError
        When there is none, it is too short, or others may read the file.
    """
    told = os.environ.get(VARIABLE)
    if told is not None:
        return _checked(told, f"The variable {VARIABLE}")
    path = Path(path)
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CounterweightError(
            f"There is no key at {path}: the filter's coins are drawn by the key that it was made "
            f"with. Put that file back, or set the variable {VARIABLE}."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CounterweightError(
            f"The key {path} cannot be read ({error}): correct its rights or contents."
        ) from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise CounterweightError(
            f"The key {path} can be read by others: who has it can foretell every decision. Make "
            f"it yours alone with chmod 600 {path}."
        )
    return _checked(text, f"The key {path}")


def own_key(path):
    """The key of one's own filters: `read_key`, and where there is no file yet, a new one.

    The file is made once, readable by its owner alone; of several that try at the same time
    one makes it, and all read that one.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Key
    """
    path = Path(path)
    if VARIABLE not in os.environ and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # mkstemp gives mode 600; a link to a name that exists fails, so the first one stays.
        handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(secrets.token_hex(32) + "\n")
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(made)
    return read_key(path)


def _checked(text, where):
    secret = text.strip()
    if len(secret) < LEAST:
        raise CounterweightError(
            f"{where} has {len(secret)} characters, and a key needs at least {LEAST} that nobody "
            "can guess: make one with python -c 'import secrets; print(secrets.token_hex(32))'."
        )
    return Key(secret.encode())


# A fitted filter as one table of numbers and texts, and its use on new candidates.
# The table (Parquet) has one row for each fact, in the layout `FILTER`:
#
# - ``fact``: ``name`` with its ``text`` or ``value``: study, title, method, setting, repeat,
#   selector (the class of the proxy), eta, rows (that it was fitted on), id (column that says who
#   somebody is), key (digest of the key that coins are drawn by), digest (of what decides: coins
#   of two filters are unrelated), counterweight (version of the library), and where it is
#   certified, alpha and level.
# - ``column``: ``name`` of a column that candidates must have, ``kind`` number or text.
# - ``feature``: feature number ``i``, its ``name``, the column it is made ``of``, its ``kind``
#   (number, blank, category, other: see `counterweight.labeling.encoding.Feature`), the category as
#   ``text``, the fill as ``value``.
# - ``array``: an array of the fitted proxy by ``name`` and indices ``i, j, k``; coefficients are
#   in units of the raw features.
# - ``group``: group number ``i``, its ``name``, the sensitive column it is ``of``; ``kind`` base
#   (share among the training rows) or target.
# - ``leaf``: leaf number ``i``; ``kind`` mass (share of the training rows) or acceptance.
# - ``share``: share of group ``j`` in leaf ``i`` of the training rows.
# - ``measure``: ``name`` of a metric ``of`` train or test.
# - ``release``: column number ``i`` that is released beside the id, by ``name``; the first is
#   ``accepted``.
# - ``held``: what rows that did not fit the filter tell, by ``name`` and ``kind`` (value, low,
#   high, bound); ``i`` is the group or the released column where it is of one.
# - ``seal``: the last row; ``text`` is the digest of all others.
#
# Nothing about the group of a candidate is needed to apply it.

log = logging.getLogger("counterweight")

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

#: What its rows may be.
PARTS = (
    "fact",
    "column",
    "feature",
    "array",
    "group",
    "leaf",
    "share",
    "measure",
    "release",
    "held",
    "type",
)

#: Facts that are needed to apply it, with their types.
_FACTS = {name: str for name in ("selector", "setting", "id", "key", "digest")}
_FACTS |= {"eta": float, "rows": float}

#: What is always released beside the id; and what else may be of what is decided.
ACCEPTED = "accepted"
DECIDED = ("leaf", "probability")
#: Column that says who candidates are, where a study names none; file of the key of one's own.
ID, KEY_FILE = "id", "filter.key"
#: Candidates handled at once.
BATCH = 1 << 16
#: Candidates whose leaves are unlike the training rows' are told: from this distance of the
#: distributions (total variation) and at this probability of chance.
DRIFT, CHANCE = 0.1, 1e-3


@dataclass
class SavedFilter(SavedModel):
    """A filter with all that is needed to apply it and to say what it discloses.

    Attributes
    ----------
    facts : dict of str to str or float
        See the module; ``selector``, ``setting`` and ``eta`` are needed.
    encoder : counterweight.labeling.encoding.TabularEncoder
        How the features of a candidate are made.
    arrays : dict of str to array
        The fitted proxy.
    groups, classes : list of str, (K,)
        Name of each group, and its sensitive column.
    base, target : array (K,)
    mass, acceptance : array (L,)
    shares : array (L, K)
    measures : dict of (str, str) to float
        By metric and part (train or test).
    release : list of str
        Columns that `accept` gives beside the id.
    held : dict of (str, str, int) to float
        See the module.
    types : dict of str to (str, dict)
        Of a table of one's own: type of each column that candidates must have, and how its texts
        were read.
    """

    KIND = "filter"

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

    def __post_init__(self):
        kind = load("selector", self.facts["selector"])
        names = [feature.name for feature in self.encoder.features_]
        self.proxy = kind.from_arrays(self.arrays, names)

    @property
    def rate(self):
        """Share of the training rows that are accepted, expected over the coin."""
        return float(self.acceptance @ self.mass)

    @property
    def shifts(self):
        """How far each leaf's share of each group is from the base share, (L, K)."""
        return np.where(self.mass[:, None] > 0, self.shares - self.base, 0.0)

    def memberships(self, X):
        """Probability of each leaf for rows of features, (n, L)."""
        for setting, member in self.proxy.leaves(X):
            if setting in ("", self.facts["setting"]):
                return interpolated_rows(member, self.facts["eta"])
        raise CounterweightError(
            f"The filter's proxy has no setting {self.facts['setting']!r}: write the filter anew."
        )

    def digest(self):
        """What two filters share only if they decide everybody alike but for the coins."""
        told = [row for part in _DECIDING for row in part(self)]
        return hashlib.sha256("\n".join(map(repr, told)).encode()).hexdigest()[:32]

    def accept(self, frame, key=None):
        """Who is accepted: all that a filter releases.

        Parameters
        ----------
        frame : pandas.DataFrame
            Candidates; see `apply_filter`.
        key
            See `apply_filter`.

        Returns
        -------
        pandas.DataFrame
            The id, ``accepted``, and what else is released, with the index of `frame`.

        Raises
        ------
        CounterweightError
            See `apply_filter`.
        """
        return as_frame(self.released(frame, apply_filter(frame, self, key)), frame)

    def save(self, path):
        """Write the filter in the form of the module."""
        write_filter(path, self)

    @classmethod
    def read(cls, path):
        """See `read_filter`."""
        return read_filter(path)

    def typed(self, frame, where="The table of candidates", reading=None, first=0):
        """Candidates as a file has them, typed as the table of the fit."""
        missing = {*self.types} - {*getattr(frame, "columns", self.types)}
        if not self.types or missing or not hasattr(frame, "columns") or not len(frame):
            return frame  # told by `candidates.encoded`
        types, forms = ({name: told[k] for name, told in self.types.items()} for k in (0, 1))
        told = {"needed": [*types], "forms": forms, "reading": reading, "first": first}
        made = typed_like(where, frame, types, **told)
        return frame.assign(**{name: made[name].to_numpy() for name in types})

    def new_rows(self, path, columns, reading=None):
        """Candidates of a file, typed as the table of one's own that the filter was fitted on.

        Parameters
        ----------
        path : str
        columns : pandas.DataFrame
            The column report of that table.
        reading : dict, optional
        """
        import pandas as pd

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

    def drift(self, leaves):
        """How far the leaves of candidates are from those of the training rows.

        Parameters
        ----------
        leaves : array (n,) of int
            Drawn leaves.

        Returns
        -------
        distance : float
            Total variation between the shares of the leaves.
        chance : float
            Probability that candidates like the training rows are as far in chi squared.
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


def _row(part, name="", of="", kind="", text="", i=-1, j=-1, k=-1, value=np.nan):
    return part, name, of, kind, text, i, j, k, float(value)


def _fact_rows(saved):
    for name, given in saved.facts.items():
        if isinstance(given, str):
            yield _row("fact", name, text=given, kind="text")
        else:
            yield _row("fact", name, value=given, kind="number")


def _feature_rows(saved):
    for column, kind in saved.encoder.columns_.items():
        yield _row("column", column, kind=kind)
    for i, made in enumerate(saved.encoder.features_):
        yield _row("feature", made.name, made.column, made.kind, made.category, i, value=made.fill)


def _array_rows(saved):
    for name, values in saved.arrays.items():
        values = np.asarray(values, dtype=float)
        for index in np.ndindex(values.shape):
            yield _row("array", name, value=values[index], **dict(zip("ijk", index, strict=False)))


def _acceptance_rows(saved):
    for i, value in enumerate(saved.acceptance):
        yield _row("leaf", kind="acceptance", i=i, value=value)


def _group_rows(saved):
    for i, (name, of) in enumerate(zip(saved.groups, saved.classes, strict=True)):
        yield _row("group", name, of, "base", i=i, value=saved.base[i])
        yield _row("group", name, of, "target", i=i, value=saved.target[i])
    for i, (mass, shares) in enumerate(zip(saved.mass, saved.shares, strict=True)):
        yield _row("leaf", kind="mass", i=i, value=mass)
        for j, share in enumerate(shares):
            yield _row("share", saved.groups[j], i=i, j=j, value=share)


def _measure_rows(saved):
    for (name, of), value in saved.measures.items():
        yield _row("measure", name, of, value=value)
    for i, name in enumerate(saved.release):
        yield _row("release", name, i=i)
    for (name, kind, i), value in saved.held.items():
        yield _row("held", name, kind=kind, i=i, value=value)


def _type_rows(saved):
    for name, (kind, form) in saved.types.items():
        yield _row("type", name, kind=kind, text=json.dumps(form, ensure_ascii=False))


#: What decides on candidates, and all that a filter is but its facts.
_DECIDING = (_feature_rows, _array_rows, _acceptance_rows)
_PARTS = (*_DECIDING, _group_rows, _measure_rows, _type_rows)


def write_filter(path, saved):
    """Write a filter as one Parquet table.

    Parameters
    ----------
    path : str or Path
    saved : SavedFilter
    """
    rows = [*_fact_rows(saved), *(row for part in _PARTS for row in part(saved))]
    columns = zip(*rows, strict=True)
    names = [name for name, _ in FILTER]
    write_sealed(path, dict(zip(names, map(list, columns), strict=True)), FILTER)


def read_filter(path):
    """A filter from its Parquet table.

    Returns
    -------
    SavedFilter

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
    needed = ("fact", "feature", "array", "group", "leaf", "share", "release")
    absent = [part for part in needed if part not in parts]
    if absent:
        raise CounterweightError(
            f"{path} is no filter: it has no rows of the part {listed(absent)}. Run the study "
            "that gives the filter away to write it anew."
        )
    facts = {
        row["name"]: row["text"] if row["kind"] == "text" else row["value"] for row in parts["fact"]
    }
    missing = [name for name in _FACTS if not isinstance(facts.get(name), _FACTS[name])]
    if missing:
        raise CounterweightError(
            f"{path} is a damaged filter: it does not say its {listed(missing)}. Run the study "
            "that gives the filter away to write it anew."
        )
    arrays = {}
    for row in parts["array"]:
        arrays.setdefault(row["name"], []).append(row)
    groups = [row for row in parts["group"] if row["kind"] == "base"]
    return SavedFilter(
        facts=facts,
        encoder=TabularEncoder.of(
            Feature(row["name"], row["of"], row["kind"], row["text"], row["value"])
            for row in parts["feature"]
        ),
        arrays={name: _array(rows) for name, rows in arrays.items()},
        groups=[row["name"] for row in groups],
        classes=[row["of"] for row in groups],
        base=np.array([row["value"] for row in groups]),
        target=np.array([row["value"] for row in parts["group"] if row["kind"] == "target"]),
        mass=np.array([row["value"] for row in parts["leaf"] if row["kind"] == "mass"]),
        acceptance=np.array([row["value"] for row in parts["leaf"] if row["kind"] == "acceptance"]),
        shares=np.array([row["value"] for row in parts["share"]]).reshape(-1, len(groups)),
        measures={(row["name"], row["of"]): row["value"] for row in parts.get("measure", ())},
        release=[row["name"] for row in parts["release"]],
        held={(row["name"], row["kind"], row["i"]): row["value"] for row in parts.get("held", ())},
        types={
            row["name"]: (row["kind"], json.loads(row["text"])) for row in parts.get("type", ())
        },
    )


def _array(rows):
    index = np.array([[row[axis] for row in rows] for axis in "ijk"])
    return addressed(index, np.array([row["value"] for row in rows]))


def apply_filter(frame, saved, key=None):
    """Decide on candidates, as a file has them.

    A candidate's leaf is drawn where the tree sends it to several with some probability, then
    it is accepted with the probability of that leaf. Both coins are the person's: keyed hashes
    of the id and of the filter. So the same person gets the same answer alone, in any table
    and in any order, and asking again gains nothing.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each candidate, with the column of ids and those that the filter was fitted
        on; others are passed over.
    saved : SavedFilter
    key : str, Path, Key, int or None
        The key that the filter was made with: its file (`KEY_FILE` where it is None; the
        variable `VARIABLE` goes before a file); a number is
        the seed of a shipped study.

    Returns
    -------
    dict of str to array (n,)
        ``id`` (canonical text), ``accepted`` (bool), ``probability`` (of being accepted, over
        both coins), ``leaf`` (that was drawn).

    Raises
    ------
    CounterweightError
        When ids are missing or repeated, the key is another one, or a candidate's columns are
        not as those of the table that the filter was fitted on (see `candidates.encoded`).
    """
    return decided(saved.typed(frame), saved, key)


def decided(frame, saved, key=None):
    """As `apply_filter`, of candidates that are typed already."""
    person = saved.facts["id"]
    X = encoded(frame, saved.encoder)
    if person not in frame.columns:
        raise CounterweightError(
            f"The table of candidates has no column {person!r}, which says who they are: coins "
            f"are drawn by it. It has {listed(frame.columns, 30)}: name it as in the study."
        )
    ids = canonical_ids(frame[person], column=person)
    draw, coin = person_uniforms(
        checked_key(key, saved).secret, ids, f"filter {saved.facts['digest']}", 2
    )
    probability, leaf = np.empty(len(X)), np.empty(len(X), "int16")
    for start in range(0, len(X), BATCH):
        part = slice(start, start + BATCH)
        member = saved.memberships(X[part])
        # One leaf after the other: the order of a sum must not depend on the rows.
        probability[part] = (member * saved.acceptance).cumsum(axis=1)[:, -1]
        leaf[part] = drawn_parts(member, draw[part])
    return {
        "id": np.array(ids, dtype=object),
        "accepted": coin < saved.acceptance[leaf],
        "probability": np.minimum(probability, 1.0),
        "leaf": leaf,
    }


def checked_key(key, saved):
    """The key of a filter, from what `apply_filter` takes; refused where it is another one."""
    if not isinstance(key, Key):
        whole = isinstance(key, int) and not isinstance(key, bool)
        key = key_of_seed(key) if whole else read_key(KEY_FILE if key is None else key)
    if key.digest != saved.facts["key"]:
        raise CounterweightError(
            f"The key (digest {key.digest}) is not the one that the filter of the study "
            f"{saved.facts['study']} was made with (digest {saved.facts['key']}): with another one "
            "everybody would get another answer. Give that key, or make the filter anew."
        )
    return key


def tell_drift(saved, leaves):
    """Warn of candidates who are not like the training rows."""
    if not len(leaves):
        return
    distance, chance = saved.drift(leaves)
    if distance > DRIFT and chance < CHANCE:
        log.warning(
            "The candidates are not like the rows that the filter was fitted on: %.0f %% of them "
            "would have to fall into other leaves to be alike. Neither its balance nor what it "
            "tells about groups was measured on such people: check units and columns, or make "
            "the filter anew.",
            100 * distance,
        )
