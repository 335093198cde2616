"""What saved models of every family share: their file, the columns of new rows, who they are.

The recipes of features learn from the whole prepared table (medians, categories). What they
learned is saved with the model, and new rows are typed and encoded by it.
"""

from __future__ import annotations

import logging
import string
import sys
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from counterweight.datasets.own_table import typed_like
from counterweight.errors import (
    CounterweightError,
    Shown,
    html_facts,
    in_brackets,
    in_figures,
    listed,
)
from counterweight.labeling.column_statistics import number_column
from counterweight.labeling.encoding import Feature, TabularEncoder, fitted_encoder
from counterweight.numerics.checks import pandas_frame, with_columns
from counterweight.plan.components import declared, reference
from counterweight.tables.formats import NO_TEXT, PLAIN_FORM
from counterweight.tables.saved_form import read_saved, saved_file, write_saved, writing_answers

log = logging.getLogger("counterweight")
#: Class of each kind of saved model; each has ``from_saved(stored)``.
LOADERS = {
    "scores": "counterweight.delivery.saved_scores:SavedScores",
    "classifier": "counterweight.delivery.saved_classifiers:SavedClassifier",
    "offers": "counterweight.delivery.saved_offers:SavedOffers",
    "log": "counterweight.delivery.saved_log_values:SavedValues",
}
#: Name of the file of a filter, whose form other programs read, and what reads it.
FILTER = ("filter.parquet", "counterweight.delivery.saved_filters:read_filter")
#: Rows handled at a time.
BATCH = 100_000
#: A mean that moved by more than this many standard deviations is drift; so is a greater share
#: of values outside the range of the fit.
MOVED, OUTSIDE = 0.5, 0.01
#: Columns that have changed, each told by itself.
MOST_TOLD = 5
PEOPLE = "The table of people"
#: Facts that a notebook shows, where they are there.
SHOWN = ("study", "title", "outcome", "setting", "id", "rows", "labeled")


class SavedModel(Shown):
    """A saved object: facts that JSON can hold, and named arrays of numbers.

    Subclasses have ``KIND``, a key of `LOADERS`. Those whose features a `TabularEncoder` makes keep
    ``features`` and perhaps ``few`` (`feature_facts`) among the facts and ``feature.*`` among the
    arrays (`feature_arrays`). Facts have
    ``id`` (the column that says who a row is, or None), ``types`` and ``forms`` of the columns of a
    table of one's own; perhaps ``answers``, estimates of the fit that a notebook shows, by name:
    whether in per cent, value, ends of the interval; the rest by family.
    """

    KIND = ""
    #: Rows handled at a time.
    BATCH = BATCH

    def __init__(self, facts: dict, arrays: dict) -> None:
        self.facts = facts
        self.arrays = {name: np.asarray(values, float) for name, values in arrays.items()}
        if "feature.fill" in self.arrays:
            fills = self.arrays["feature.fill"]
            features = (
                Feature(*told, fill=float(fill))
                for told, fill in zip(facts["features"], fills, strict=True)
            )
            self.encoder = TabularEncoder.of(features, facts.get("few"))

    def __dir__(self):
        return sorted({*super().__dir__()} - sys.modules["counterweight"].INTERNAL)

    def to_saved(self):
        """Kind, facts and arrays, as they are written."""
        return self.KIND, self.facts, self.arrays

    @classmethod
    def from_saved(cls, stored):
        """From a `counterweight.tables.saved_form.Stored`."""
        return cls(stored.facts, stored.arrays)

    def save(self, path: str | Path) -> None:
        """Write it as one Parquet file; errors as `counterweight.tables.saved_form.write_saved`."""
        write_saved(path, *self.to_saved())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """What `save` wrote; errors as `load`."""
        return read_saved(path, cls.from_saved)

    def part(self, name):
        """The arrays ``name.*`` by what follows the point; copies."""
        start = f"{name}."
        return {
            key.removeprefix(start): values.copy()
            for key, values in self.arrays.items()
            if key.startswith(start)
        }

    #: Kind of component that it is made by, which is named among its facts; "" where these have
    #: the label.
    MADE_BY = "model"

    def _made_by(self):
        """What it is made by, in the words of pages; "" of what nothing was fitted for."""
        name, options = self.facts.get(self.MADE_BY), self.facts.get("options") or {}
        if not name:
            return self.facts.get("method", "")
        words = name.replace("_", " ").capitalize()
        label = (
            declared("selector", name, "LABEL", words)
            if self.MADE_BY == "selector"
            else declared("model", name, "LABEL", words)
        )
        fields = {part for _, part, _, _ in string.Formatter().parse(label) if part}
        told = {part: options.get(part) for part in fields}
        return label.format(**{k: one if np.isscalar(one) else k for k, one in told.items()})

    def _shown(self):
        """The facts that it shows in a line, and in a notebook first."""
        told = {name: self.facts[name] for name in SHOWN if name in self.facts}
        told = {name: one for name, one in told.items() if one != "" and np.isscalar(one)}
        if told.get("title") == told.get("study"):
            told.pop("title", None)
        told |= {"method": made} if (made := self._made_by()) else {}
        if hasattr(self, "encoder"):
            told["by"] = listed([*self.encoder.columns_], 8)
        if getattr(self, "binary", False):
            told["yes from"] = self.facts["threshold"]
        return told

    def _repr_html_(self):
        """What a notebook shows: what it answers, of what it was fitted, what else it holds."""
        told = self._shown()
        for name, (percent, *ends) in (self.facts.get("answers") or {}).items():
            told[name] = in_brackets(*np.array(ends, float), percent)  # null is NaN
        return html_facts(type(self).__name__, told | self.shown())

    def shown(self) -> dict:
        """Further facts for a notebook, by family."""
        return {}

    # New rows.

    def typed(self, frame, where=PEOPLE, reading=None, first=0, names=None):
        """New rows, their columns of the fit typed as they were in it; others as they are.

        `where` is the file or words for it, `reading` how it is read, `first` the number of the
        first row, for messages; `names` are the columns that are typed, else all of the fit.
        Refused where a column is missing or holds something else than in the fit.
        """
        types, forms = self.facts.get("types") or {}, self.facts.get("forms")
        person = self.facts.get("id")
        names = [name for name in types if name != person] if names is None else list(names)
        frame = pandas_frame(frame, "people")
        if not names or not len(frame):
            return frame  # told by `encoded`
        told = {"needed": names, "forms": forms, "reading": reading, "first": first}
        made = typed_like(where, frame, types, **told)
        return with_columns(frame, {name: made[name].to_numpy() for name in names})

    def named(self, frame, first=0):
        """``{column: values}`` that tell the rows of a table apart: the id, else ``row``.

        Refused where the rows of the fit had an id, and these have none.
        """
        column = self.facts["id"]
        if column is None:
            rows = np.arange(first, first + len(frame), dtype=np.int64)
            return {"row": frame["row"].to_numpy() if "row" in frame.columns else rows}
        check_id(frame.columns, column)
        ids = frame[column]
        if self.facts.get("id_numbers") and not pd.api.types.is_numeric_dtype(ids):
            # Read as text, such as from a CSV file.
            found = pd.to_numeric(ids, errors="coerce")
            ids = found if found.notna().all() else found.astype(object).where(found.notna(), ids)
        return {column: ids.to_numpy()}

    def batches(self, frame):
        """A table in parts of `BATCH` rows, each with the number of its first row."""
        frame = pandas_frame(frame, "people")
        for first in range(0, max(len(frame), 1), self.BATCH):
            yield frame.iloc[first : first + self.BATCH], first

    # Drift.

    def sums(self, X):
        """What `drift` needs of a batch, (3, d); sums of batches add up."""
        low, high = self.arrays["feature.low"], self.arrays["feature.high"]
        outside = ~((low <= X) & (high >= X))
        return np.vstack([np.full(X.shape[1], len(X)), X.sum(axis=0), outside.sum(axis=0)])

    def added(self, sums, more):
        """Sums of two batches, the first of which may be None."""
        return more if sums is None else sums + more

    def tell(self, sums, still=None):
        """Warn of what `drift` says, of many columns in short; the same as a dict, for the page.

        Where columns that stand `still` are given, no sentence is said twice.
        """
        said = [str(one) for one in self.drift(sums, still or ())]
        if still is not None:
            before = self.__dict__.setdefault("_said", set())
            said = [one for one in said if one not in before]
            before.update(said)
        if more := said[MOST_TOLD:]:
            said = [*said[:MOST_TOLD], f"{len(more)} more columns have changed: the log has each."]
        for sentence in said:
            log.warning("%s", sentence)
        for sentence in more:
            log.info("%s", sentence)
        return {"drift": said} if said else {}

    def drift(self, sums, still=()):
        """Sentences on how new people differ from those of the fit; none where they do not.

        A feature is told whose mean moved by more than half a standard deviation of the fit (and
        three standard errors), or that is outside its range for more than 1 % of the people. `sums`
        (3, d) are from the method of that name; columns that stand `still` are passed over.
        """
        rows, total, outside = sums
        mean, sd = self.arrays["feature.mean"], self.arrays["feature.sd"]
        moved = np.abs(total / rows - mean) / np.where(sd > 0, sd, np.inf)
        moved = moved > np.maximum(MOVED, 3 / np.sqrt(rows))
        beyond = outside > np.maximum(OUTSIDE * rows, 1)
        said = []
        for at in np.flatnonzero(moved | beyond):
            parts = []
            if moved[at]:
                new, old = in_figures(total[at] / rows[at]), in_figures(mean[at])
                parts.append(f"its mean is {new}, {old} in the fit")
            if beyond[at]:
                share = 100 * outside[at] / rows[at]
                parts.append(f"{share:.1f} % are outside its range in the fit")
            feature = self.encoder.features_[at]
            if feature.column not in still:
                said.append(f"The feature {feature.name!r} has changed: {'; '.join(parts)}.")
        return said


class SavedPredictor(SavedModel):
    """A saved model that says classes or numbers: what scikit-learn's tools ask of it.

    Subclasses have ``answered(frame, first, reasons)``: answers for typed rows, a dict of arrays
    with ``estimate`` and, of classes, ``decision``, and sums of the rows, which `added` adds up
    over batches, for ``drift(sums)``; and ``new_rows(path, reading)``, which yields the typed rows
    of a file with who they are.

    Attributes
    ----------
    classes_ : numpy.ndarray (2,)
        Both classes as the table of the fit has them, the one that counts as 1 last; not there
        where the outcome is a number.
    """

    @property
    def binary(self) -> bool:
        """Whether the outcome is one of two classes."""
        return True

    @property
    def classes_(self) -> np.ndarray:
        if not self.binary:
            raise AttributeError(f"The outcome {self.facts['outcome']!r} is a number: no classes.")
        return classes_array(self.facts.get("classes") or self.facts.get("names", (0, 1)))

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Refused: a saved model is fitted already."""
        raise CounterweightError(
            "A saved model is fitted already: it answers for new rows, and a study fits it anew."
        )

    def scored(self, frame, reasons=True, tell=False):
        """Answers for rows that are typed already, a dict of arrays (n,).

        With `tell` it is a warning how they differ from those of the fit; ``"once"`` is for what
        scikit-learn's tools call again and again, with a column at one value after the other.
        """
        made, sums = [], None
        for part, first in self.batches(frame):
            answers, own = self.answered(part, first, reasons)
            made.append(answers)
            sums = self.added(sums, own)
        if tell:
            self.tell(sums, standing_still(frame) if tell == "once" else None)
        return {name: np.concatenate([part[name] for part in made]) for name in made[0]}

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        """Chances of both classes, (n, 2), as scikit-learn gives them.

        Of classifiers under promises it is the chance with which the randomised classifier says
        yes, which is no estimate of the outcome.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns as in the table of the fit; those that nothing needs are passed over.

        Raises
        ------
        CounterweightError
            When the outcome is a number; when there is nobody, a column is missing, or holds
            something else than in the fit; for models that go by groups also when a row is in none
            or in two of them.
        """
        if not self.binary:
            raise CounterweightError(
                f"The outcome {self.facts['outcome']!r} is a number, so there are no chances of "
                "classes: use predict."
            )
        p = self.scored(self.typed(frame), reasons=False, tell="once")["estimate"]
        return np.column_stack([1 - p, p])

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        """The expected number, or the class of `classes_` that is decided for, (n,)."""
        made = self.scored(self.typed(frame), reasons=False, tell="once")
        return made["decision" if self.binary else "estimate"]

    def score(
        self, frame: pd.DataFrame, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """Share of `y` that `predict` tells (of a number R²), as scikit-learn's `score`.

        Parameters
        ----------
        frame : pandas.DataFrame
            As `predict_proba` has it.
        y : array (n,)
            Known outcomes of these rows.
        sample_weight : array (n,), optional
        """
        from sklearn.metrics import accuracy_score, r2_score

        judge = accuracy_score if self.binary else r2_score
        return float(judge(y, self.predict(frame), sample_weight=sample_weight))

    def score_file(self, path, table, csv, reading=None):
        """Answer for the rows of a file in batches, and say how they differ from those of the fit.

        The answers are written whole or, when a row cannot be answered for, not at all. Gives the
        number of rows.
        """
        rows, sums, groups = 0, None, {}
        with writing_answers(table, csv) as (write, facts):
            for frame, named in self.new_rows(path, reading):
                made, own = self.answered(frame, rows)
                write(named | made)
                sums, rows = self.added(sums, own), rows + len(frame)
                for name, counts in self.counts_by_group(frame, made).items():
                    groups[name] = [*map(sum, zip(groups.get(name, (0, 0)), counts, strict=True))]
            facts |= self.tell(sums) | ({"groups": groups} if groups else {})
        return rows

    def counts_by_group(self, frame: pd.DataFrame, made: dict) -> dict:
        """How many of each group that promises name typed rows are, and how many get a yes."""
        return {}

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier" if self.binary else "regressor",
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags(multi_class=False) if self.binary else None,
            regressor_tags=None if self.binary else RegressorTags(),
            input_tags=InputTags(string=True, categorical=True, allow_nan=True),
        )


def standing_still(frame):
    """Names of columns with one value in all rows, of several."""
    if len(frame) < 2:
        return []
    return [name for name, values in frame.items() if (values == values.iloc[0]).all()]


def check_id(names, column, people="people"):
    """Refuse a table without the column that says who its rows are."""
    if column not in names:
        raise CounterweightError(
            f"The table of {people} has no column {column!r}, which says who they are; it has "
            f"{listed(names, 30)}: name the columns as in the table of the fit."
        )


def feature_facts(encoder):
    """Facts of a saved model of which `SavedModel` makes its encoder."""
    told = {"features": [list(feature[:4]) for feature in encoder.features_]}
    few = {column: list(texts) for column, texts in encoder.few_.items()}
    return told | ({"few": few} if few else {})


def feature_arrays(encoder, X, weights=None):
    """Arrays ``feature.*`` of a saved model: the fills, and what the rows of the fit were like.

    Features X (n, d) of rows that stand for others have weights (n,).
    """
    mean, sd = X.mean(axis=0), X.std(axis=0)
    if weights is not None:
        mean = np.average(X, axis=0, weights=weights)
        sd = np.sqrt(np.average(np.square(X - mean), axis=0, weights=weights))
    return {
        "feature.fill": [feature.fill for feature in encoder.features_],
        "feature.low": X.min(axis=0),
        "feature.high": X.max(axis=0),
        "feature.mean": mean,
        "feature.sd": sd,
    }


def classes_array(classes):
    """Two classes, as JSON tells them, as an array of the type that they have in the table."""
    alike = len({type(value) for value in classes}) == 1 and not isinstance(classes[0], str)
    return np.array(classes, dtype=None if alike else object)


def as_frame(columns, frame):
    """Columns of answers as a data frame whose index is that of the rows that were asked about."""
    made = pd.DataFrame(columns)
    return made.set_axis(frame.index) if isinstance(frame, pd.DataFrame) else made


def load(path: str | Path) -> SavedModel:
    """Load what a study gave away.

    Parameters
    ----------
    path : str or Path
        The folder of the study, such as ``results/applicants``, or the file ``model.parquet``
        (of a filter: ``filter.parquet``).

    Returns
    -------
    object
        By the family of the study: `SavedScores`, `SavedOffers` and others; each says in its
        docstring what it does for new rows.

    Raises
    ------
    CounterweightError
        When there is no such file, or it is no saved model that this version can read.
    """
    path = saved_file(path)
    if Path(path).name == FILTER[0]:
        return reference(FILTER[1])(path)

    def loaded(stored):
        if stored.kind not in LOADERS:
            raise CounterweightError(
                f"{path} holds a model of the kind {stored.kind!r}, which this version does not "
                f"know: load it with version {stored.versions.get('counterweight', 'unknown')}."
            )
        return reference(LOADERS[stored.kind]).from_saved(stored)

    return read_saved(path, loaded)


#: Recipes whose features can be made for new rows.
RECIPES = ("one_hot", "as_is")


def learned_encoder(frame, names, recipe, outcome=None, *, saved="filter"):
    """The `TabularEncoder` of the features `names` that a recipe made of a prepared table.

    Refused where the recipe (``name`` and ``options``) is none of `RECIPES`, or adds noise, which
    no new row could repeat. `outcome` is a column that is no feature; `saved`, what that is for.
    """
    options = recipe["options"]
    if recipe["name"] not in RECIPES:
        raise CounterweightError(
            f"The {saved} cannot be delivered with the features of the recipe {recipe['name']}: "
            f"choose {listed(RECIPES)}, which can be repeated on new rows."
        )
    if options.get("noise"):
        raise CounterweightError(
            f"The {saved} cannot be delivered with noise on its features, since new rows would get "
            "other noise: set features.noise to 0."
        )
    if recipe["name"] == "one_hot":
        keys = ("drop", "only", "max_categories", "least_rows")
        given = {key: options[key] for key in keys if key in options}
        fitted = fitted_encoder(frame, outcome, **given)
        features, few = fitted.features_, fitted.few_
    else:
        features = [
            Feature(name, name, "number", fill=number_column(name, "number", frame[name]).median)
            for name in names
            if name in frame and pd.api.types.is_numeric_dtype(frame[name])
        ]
        few = {}
    features = {feature.name: feature for feature in features}
    absent = [name for name in names if name not in features]
    if absent:
        raise CounterweightError(
            f"Features {listed(absent)} cannot be traced to a column of the prepared table: "
            "delete the features of the study and run again."
        )
    return TabularEncoder.of([features[name] for name in names], few)


def traced_encoder(data, frame, recipe, outcome=None, *, saved="filter"):
    """As `learned_encoder`, of the features of a `StudyData`; checked on all its rows."""
    encoder = learned_encoder(frame, data.names, recipe, outcome, saved=saved)
    again = encoder.transform(frame.set_index("row", drop=False).loc[data.rows])
    if not np.array_equal(again, data.X):
        wrong = data.names[int(np.argmax((again != data.X).any(axis=0)))]
        raise CounterweightError(
            f"The feature {wrong!r} of the study is not what the prepared table gives: delete "
            "the results of the study and run again."
        )
    return encoder


def encoded(frame, encoder, **told):
    """Features (n, d) of new rows; parameters and errors as `encoded_rows`."""
    return encoded_rows(frame, encoder, **told).dense()


def encoded_rows(frame, encoder, *, people="candidates", saved="filter", first=0):
    """New rows as an encoder has them, texts or typed; columns without a feature are passed over.

    What is filled, or is a category that the fit never saw, is counted in the log. Refused are
    frames without a row, and columns that are missing, twice there or of another type. `people`
    and `saved` say who the rows are and what was fitted; `first` is the number of the first row.
    """
    frame = pandas_frame(frame, people)
    if not len(frame):
        raise CounterweightError(f"The table of {people} has no row: there is nobody to decide on.")
    forms = {
        column: PLAIN_FORM
        if kind == "number"
        else {"missing": [sign for sign in NO_TEXT if sign not in encoder.categories(column)]}
        for column, kind in encoder.columns_.items()
    }
    told = {"needed": [*forms], "forms": forms, "first": first}
    typed = typed_like(f"The table of {people}", frame, encoder.columns_, **told)
    made, rows = encoder.encode(typed), len(frame)
    for fact, values in zip(encoder.numbers_, made.numbers.T, strict=True):
        if missing := np.isnan(values).sum():
            told = f"{fact.column}: missing in {missing} of {rows} rows, filled with"
            if encoder.has(fact.column, "blank"):
                log.info(f"{told} {fact.median:g} as in training")
            else:
                log.warning(f"{told} {fact.median:g}; no feature of the {saved} tells them apart.")
    for at, fact in enumerate(encoder.categories_):
        column, unseen = fact.column, made.unseen[:, at]
        count, blank = unseen.sum(), (made.codes[:, at] == len(fact.levels) + 1).sum()
        if count and encoder.has(column, "other") and column not in encoder.few_:
            log.info(f"{column}: {count} of {rows} rows have a category that counts as other")
        elif count:
            words = listed(sorted(set(typed[column][unseen])), 5)
            log.warning(
                f"{column}: {count} of {rows} rows have a category that the {saved} never saw "
                f"({words}); it counts as none of the known ones."
            )
        if blank and not encoder.has(column, "blank"):
            log.warning(
                f"{column}: missing in {blank} of {rows} rows, and it never was in training; these "
                "rows count as none of the known categories."
            )
    return made
