"""Saved models of every family: found by what they are, loaded without running code."""

from pathlib import Path

from counterweight.errors import CounterweightError
from counterweight.files.gifts import gift_of, made_of_gift
from counterweight.plan.components import reference

#: Class of each kind of saved model; each has ``from_gift(gift)``.
LOADERS = {
    "scores": "counterweight.models.scores.saved:SavedScores",
    "classifier": "counterweight.models.classification.saved:SavedClassifier",
    "offers": "counterweight.models.choice.delivered.saved:SavedOffers",
    "log": "counterweight.evaluation.values.saved:SavedValues",
}
#: Name of the file of a filter, which has a form of its own, and what reads it.
FILTER = ("filter.parquet", "counterweight.models.filters.table:read_filter")


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
