"""Saved models of every family: found by what they are, loaded without running code."""

from pathlib import Path

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.gifts import gift_of, made_of_gift
from counterweight.plan.components import reference

#: Class of each kind of saved model; each has ``from_gift(gift)``.
LOADERS = {
    "scores": "counterweight.models.scores.saved:SavedScores",
    "classifier": "counterweight.models.classification.saved:SavedClassifier",
    "offers": "counterweight.models.choice.saved_offers:SavedOffers",
    "log": "counterweight.evaluation.values.saved:SavedValues",
}
#: Name of the file of a filter, which has a form of its own, and what reads it.
FILTER = ("filter.parquet", "counterweight.models.filters.saved_filter:read_filter")


class SavedModel:
    """What scikit-learn's tools ask of a fitted model, of those that say classes or numbers.

    Attributes
    ----------
    classes_ : numpy.ndarray (2,)
        Both classes as the table of the fit has them, the one that counts as 1 last; not there
        where the outcome is a number.
    """

    def fit(self, X, y=None):
        """Refused: a saved model is fitted already."""
        raise CounterweightError(
            "A saved model is fitted already: it answers for new rows, and a study fits it anew."
        )

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_tags__(self):
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags

        binary = hasattr(self, "classes_")
        return Tags(
            estimator_type="classifier" if binary else "regressor",
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags(multi_class=False) if binary else None,
            regressor_tags=None if binary else RegressorTags(),
            input_tags=InputTags(string=True, categorical=True, allow_nan=True),
        )


def classes_array(classes):
    """Two classes, as JSON tells them, as an array of the type that they have in the table."""
    alike = len({type(value) for value in classes}) == 1 and not isinstance(classes[0], str)
    return np.array(classes, dtype=None if alike else object)


def as_frame(columns, frame):
    """Columns of answers as a data frame whose index is that of the rows that were asked about."""
    import pandas as pd

    made = pd.DataFrame(columns)
    return made.set_axis(frame.index) if isinstance(frame, pd.DataFrame) else made


def load(path):
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
    path = gift_of(path)
    if Path(path).name == FILTER[0]:
        return reference(FILTER[1])(path)
    return made_of_gift(path, lambda gift: _loaded(path, gift))


def _loaded(path, gift):
    if gift.kind not in LOADERS:
        raise CounterweightError(
            f"{path} holds a model of the kind {gift.kind!r}, which this version does not know: "
            f"load it with version {gift.versions.get('counterweight', 'unknown')}."
        )
    return reference(LOADERS[gift.kind]).from_gift(gift)
