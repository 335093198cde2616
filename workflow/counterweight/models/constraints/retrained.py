"""A sequence of models, each trained when more rows have come and held to the one before."""

import copy
from dataclasses import dataclass, fields

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Integer
from counterweight.models.constraints.constrained import OPTIONS as CONSTRAINED
from counterweight.models.constraints.constrained import ConstrainedClassifier
from counterweight.numerics.options import check_options
from counterweight.numerics.rates.datasets import DataSets

OPTIONS = {
    **CONSTRAINED,
    "batches": Array(..., "Data sets in the order in which their rows come, such as months.", items={"type": "string"}, minItems=2),
    "after": Integer(None, "The model after so many batches; a sweep over it trains the sequence once. null: after all.", minimum=1, null=True),
}  # fmt: skip
LABEL = "Retrained SVM"


@dataclass(eq=False, repr=False, kw_only=True)
class RetrainedClassifier(ConstrainedClassifier):
    """Classifiers trained batch by batch, each under constraints against the one before.

    After the first batch a classifier is fitted without constraints; it is the trusted one. After
    each further batch one is fitted to all rows so far, under the constraints, for which the
    classifier before is the deployed one: ``churn(everyone) <= target`` keeps answers near its
    answers (stability, section 1 of Goh et al. 2016). ``everyone`` and ``labeled`` are the rows so
    far; a data set that is a batch to come has no rows yet. Rows in no batch are not looked at.

    Parameters
    ----------
    batches : sequence of str
    after : int, optional
        See `OPTIONS`; the others are those of `ConstrainedClassifier`.

    Attributes
    ----------
    learned_ : DataSets
        What the last fit saw: its rows, and the answers of the classifier before as those of the
        deployed one; the first has none before it, and its promises no value.
    """

    batches: tuple
    after: int | None = None

    _options = OPTIONS

    def _learn_all(self, samples, rng):
        """Refuses batches that there are not."""
        self._chain([self], samples, rng)

    @classmethod
    def fit_sweep(cls, settings, data, rng):
        """Fit the settings of a sweep over `after` in one sequence; None for other sweeps."""
        models = [cls(**options) for options in settings]
        same = [{k: v for k, v in vars(model).items() if k != "after"} for model in models]
        if any(options != same[0] for options in same):
            return None
        for model in models:
            check_options(vars(model), cls._options)
        models[0]._chain(models, data, rng)
        return models

    def _chain(self, models, samples, rng):
        """Fit the sequence; each of `models` is the one after as many batches as it asks for."""
        count = len(self.batches)
        asked = {model: count if model.after is None else model.after for model in models}
        unknown = [name for name in self.batches if name not in samples.members]
        if unknown or max(asked.values()) > count:
            raise CounterweightError(
                f"The data sets {listed(unknown)} of batches are not there; there are "
                f"{listed(samples.members) or 'none'}."
                if unknown
                else f"after is {max(asked.values())}, and there are {count} batches: ask for one "
                "of these."
            )
        last = None
        for k in range(1, max(asked.values()) + 1):
            learned = self._until(samples, k, last)
            last = type(self)(**{one.name: getattr(self, one.name) for one in fields(self)})
            if k == 1:
                last.constraints = ()
            ConstrainedClassifier._learn_all(last, learned, copy.deepcopy(rng))
            if k == 1:
                last.constraints = self.constraints
            last.learned_ = learned
            last._tell_promises(learned)
            for model in models:
                if asked[model] == k:
                    own = {one.name for one in fields(model)}
                    fitted = {name: value for name, value in vars(last).items() if name not in own}
                    vars(model).update(fitted)

    def _until(self, samples, k, last):
        """Rows of the first k batches, the last model as the deployed one."""
        rows = np.any([samples.members[name] for name in self.batches[:k]], axis=0)
        members = {name: mask[rows] for name, mask in samples.members.items()}
        learned = DataSets(samples.X[rows], samples.y[rows], samples.weight[rows], members)
        if last is not None:
            learned.deployed = _signs(last, learned)
        return learned

    def fitted_on(self, samples):
        """What the promises and measures of training are of."""
        return self.learned_


def _signs(model, samples):
    """Decisions as scores of a deployed model."""
    p, decided = model.answers(samples.X, samples)
    return np.where((p > 0.5) if decided is None else decided > 0.5, 1.0, -1.0)
