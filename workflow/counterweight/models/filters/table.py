"""A fitted filter as one table of numbers and texts, and its use on new candidates.

The table (Parquet) has one row for each fact, in the layout `FILTER`:

- ``fact``: ``name`` with its ``text`` or ``value``: study, title, method, setting, repeat,
  selector (the class of the proxy), eta, rows (that it was fitted on), id (column that says who
  somebody is; only where there is one).
- ``column``: ``name`` of a column that candidates must have, ``kind`` number or text.
- ``feature``: feature number ``i``, its ``name``, the column it is made ``of``, its ``kind``
  (number, blank, category, other: see `encoder.Feature`), the category as ``text``, the
  fill as ``value``.
- ``array``: an array of the fitted proxy by ``name`` and indices ``i, j, k``; coefficients are
  in units of the raw features.
- ``group``: group number ``i``, its ``name``, the sensitive column it is ``of``; ``kind`` base
  (share among the training rows) or target.
- ``leaf``: leaf number ``i``; ``kind`` mass (share of the training rows) or acceptance.
- ``share``: share of group ``j`` in leaf ``i`` of the training rows.
- ``measure``: ``name`` of a metric ``of`` train or test.

Nothing about the group of a candidate is needed to apply it.
"""

import copy
from dataclasses import dataclass, field

import numpy as np

from counterweight.datasets.own_table import new_rows
from counterweight.errors import CounterweightError, listed
from counterweight.files.settings import numbers_of
from counterweight.files.study_data import StudyData
from counterweight.files.tables import read_arrow, write_table
from counterweight.labeling.features.encoder import Encoder, Feature
from counterweight.labeling.own.prepare import forms_of, types_of
from counterweight.models.filters.candidates import encoded, learned_encoder
from counterweight.numerics.geometry.leaves import interpolated_rows
from counterweight.numerics.groups import group_names, leaf_table, memberships, target_shares
from counterweight.numerics.zero_rejection import row_uniforms
from counterweight.plan.components import load
from counterweight.selection.proxies import split_rules

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

#: Metrics of the method that go with its filter.
MEASURES = ("acceptance_rate", "disclosivity", "disclosivity_rows", "floor", "imbalance")
#: Prefix of the group columns of the labels.
PREFIX = "group_"
#: Candidates handled at once.
BATCH = 1 << 16


@dataclass
class SavedFilter:
    """A filter with all that is needed to apply it and to say what it discloses.

    Attributes
    ----------
    facts : dict of str to str or float
        See the module; ``selector``, ``setting`` and ``eta`` are needed.
    encoder : counterweight.labeling.features.encoder.Encoder
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
    """

    facts: dict
    encoder: Encoder
    arrays: dict
    groups: list
    classes: list
    base: np.ndarray
    target: np.ndarray
    mass: np.ndarray
    acceptance: np.ndarray
    shares: np.ndarray
    measures: dict = field(default_factory=dict)

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

    def accept(self, frame, seed):
        """Who is accepted: all that a filter releases.

        Parameters
        ----------
        frame : pandas.DataFrame
            Candidates; see `apply_filter`.
        seed : int

        Returns
        -------
        dict of str to array (n,)
            The id (``row``, from 0, where the filter knows of none) and ``accepted``.

        Raises
        ------
        CounterweightError
            See `apply_filter`; also when the column of the id is missing.
        """
        return self.released(frame, apply_filter(frame, self, seed))

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
        needed = [*dict.fromkeys([*self.encoder.columns_, *person])]
        types, forms = types_of(columns), forms_of(columns)
        return pd.concat(
            new_rows(path, types, needed, forms=forms, reading=reading), ignore_index=True
        )

    def released(self, frame, decided):
        """The columns of `accept`, of what `apply_filter` decided on the same candidates."""
        named, person = {"row": decided["row"]}, self.facts.get("id")
        if person is not None:
            if person not in frame.columns:
                raise CounterweightError(
                    f"The table of candidates has no column {person!r}, which says who they are; "
                    f"it has {listed(frame.columns, 30)}: name the columns as in the study."
                )
            named = {person: frame[person].to_numpy()}
        return named | {"accepted": decided["accepted"]}


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
        ``study, title, method, setting, repeat``.

    Raises
    ------
    CounterweightError
        When the setting does not exist, or the features cannot be made for new rows.
    """
    data, repeat, setting = StudyData(features, labels), facts["repeat"], facts["setting"]
    encoder = learned_encoder(frame, data.names, recipe, outcome)
    again = encoder.transform(frame[np.isin(frame["row"], data.rows)])
    if not np.array_equal(again, data.X):
        wrong = data.names[int(np.argmax((again != data.X).any(axis=0)))]
        raise CounterweightError(
            f"The feature {wrong!r} of the study is not what the prepared table gives: delete "
            "the results of the study and run again."
        )
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
        | {"selector": selector, "eta": 0.0 if noise is None else noise, "rows": len(Z)},
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


def write_filter(path, saved):
    """Write a filter as one Parquet table.

    Parameters
    ----------
    path : str or Path
    saved : SavedFilter
    """
    rows = []

    def add(part, name="", of="", kind="", text="", i=-1, j=-1, k=-1, value=np.nan):
        rows.append((part, name, of, kind, text, i, j, k, float(value)))

    for name, given in saved.facts.items():
        if isinstance(given, str):
            add("fact", name, text=given, kind="text")
        else:
            add("fact", name, value=given, kind="number")
    for column, kind in saved.encoder.columns_.items():
        add("column", column, kind=kind)
    for i, feature in enumerate(saved.encoder.features_):
        add(
            "feature",
            feature.name,
            feature.column,
            feature.kind,
            feature.category,
            i,
            value=feature.fill,
        )
    for name, values in saved.arrays.items():
        values = np.asarray(values, dtype=float)
        for index in np.ndindex(values.shape):
            add("array", name, value=values[index], **dict(zip("ijk", index, strict=False)))
    for i, (name, of) in enumerate(zip(saved.groups, saved.classes, strict=True)):
        add("group", name, of, "base", i=i, value=saved.base[i])
        add("group", name, of, "target", i=i, value=saved.target[i])
    for i in range(len(saved.mass)):
        add("leaf", kind="mass", i=i, value=saved.mass[i])
        add("leaf", kind="acceptance", i=i, value=saved.acceptance[i])
        for j in range(len(saved.groups)):
            add("share", saved.groups[j], i=i, j=j, value=saved.shares[i, j])
    for (name, of), value in saved.measures.items():
        add("measure", name, of, value=value)
    columns = zip(*rows, strict=True)
    names = [name for name, _ in FILTER]
    write_table(path, dict(zip(names, map(list, columns), strict=True)), FILTER)


def read_filter(path):
    """A filter from its Parquet table.

    Returns
    -------
    SavedFilter

    Raises
    ------
    CounterweightError
        When the file is missing, or is no table of a filter.
    """
    columns = read_arrow(path, [name for name, _ in FILTER]).to_pydict()
    parts = {}
    for row in zip(*columns.values(), strict=True):
        parts.setdefault(row[0], []).append(dict(zip(columns, row, strict=True)))
    absent = [
        part for part in ("fact", "feature", "array", "group", "leaf", "share") if part not in parts
    ]
    if absent:
        raise CounterweightError(
            f"{path} is no filter: it has no rows of the part {listed(absent)}. Run the study "
            "that gives the filter away to write it anew."
        )
    facts = {
        row["name"]: row["text"] if row["kind"] == "text" else row["value"] for row in parts["fact"]
    }
    arrays = {}
    for row in parts["array"]:
        arrays.setdefault(row["name"], []).append(row)
    groups = [row for row in parts["group"] if row["kind"] == "base"]
    return SavedFilter(
        facts=facts,
        encoder=Encoder.of(
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
    )


def _array(rows):
    index = np.array([[row["i"], row["j"], row["k"]] for row in rows])
    index = index[:, : int((index[0] >= 0).sum())]
    values = np.full(tuple(index.max(axis=0) + 1), np.nan)
    values[tuple(index.T)] = [row["value"] for row in rows] if index.size else rows[0]["value"]
    return values


def apply_filter(frame, saved, seed):
    """Decide on candidates.

    A candidate's leaf is drawn where the tree sends it to several with some probability, then
    it is accepted with the probability of that leaf. Both draws are functions of the seed and
    of the candidate's number in the table alone, so rows added behind it change nothing.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row for each candidate, with the columns that the filter was fitted on; others
        are passed over.
    saved : SavedFilter
    seed : int

    Returns
    -------
    dict of str to array (n,)
        ``row`` (number of the candidate, from 0), ``accepted`` (bool), ``probability`` (of
        being accepted, over both draws), ``leaf`` (that was drawn).

    Raises
    ------
    CounterweightError
        See `candidates.encoded`.
    """
    X = encoded(frame, saved.encoder)
    rows = np.arange(len(X))
    draw, coin = (row_uniforms(2 * rows + part, seed) for part in (0, 1))
    probability, leaf = np.empty(len(X)), np.empty(len(X), "int16")
    for start in range(0, len(X), BATCH):
        part = slice(start, start + BATCH)
        member = saved.memberships(X[part])
        probability[part] = member @ saved.acceptance
        ends = np.cumsum(member, axis=1)
        # Rounding may leave the last end off 1.
        at = (ends <= (draw[part] * ends[:, -1])[:, None]).sum(axis=1)
        held = member.shape[1] - 1 - (member[:, ::-1] > 0).argmax(axis=1)
        leaf[part] = np.minimum(at, held)
    return {
        "row": rows,
        "accepted": coin < saved.acceptance[leaf],
        "probability": np.minimum(probability, 1.0),
        "leaf": leaf,
    }
