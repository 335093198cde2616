"""What the classifiers share that learn from rows drawn by their key and class."""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.models.classifier import BinaryClassifier
from counterweight.models.subsampling.learners import ConstantModel, new_learner, stored_learner
from counterweight.numerics.checks import checked_labels, checked_rows, mean_one_weights
from counterweight.numerics.zero_rejection import key_order


class KeyedClassifier(BinaryClassifier):
    """A learner of `learners` on some of the rows, its estimates corrected for all of them.

    Attributes
    ----------
    learner_ : the fitted learner, or a `ConstantModel`
    n_features_in_ : int
    predictions_out_of_range_ : float
    constant_, converged_ : bool
    """

    #: The trainer passes row ids.
    KEYED = True

    def _by_key(self, X, y, sample_weight, keys):
        """Checked rows, labels, weights and keys, in the order of the keys."""
        X = checked_rows(X)
        y = checked_labels(y, len(X))
        weight, _ = mean_one_weights(sample_weight, len(X))
        keys = np.arange(len(X)) if keys is None else np.asarray(keys)
        order = key_order(keys, len(X))
        if y.min() == y.max():
            raise CounterweightError(
                f"All {len(y)} training rows are of one class, {y[0]}: a classifier needs both "
                "classes."
            )
        self.n_features_in_ = X.shape[1]
        return X[order], y[order], weight[order], keys[order]

    def _learned(self, X, y, weight, seed):
        """The learner, fitted; a constant where the rows are of one class."""
        if len(np.unique(y)) < 2:
            return ConstantModel(y, weight)
        # Learners are faster without weights, and the fit is the same.
        weight = None if (weight == 1).all() else weight
        learner = new_learner(self.learner, self.min_leaf)
        return learner.fit(X, y, weight, np.random.default_rng(seed))

    def _use(self, learner, X):
        """Take a fitted learner, and note how it does on rows X."""
        self.learner_ = learner
        self.constant_ = isinstance(learner, ConstantModel)
        self.converged_ = bool(learner.converged_)
        self.predictions_out_of_range_ = learner.out_of_range(X)

    @classmethod
    def _stored(cls, arrays, options):
        """A model with the learner of `_arrays`, and the options that are places in lists."""
        told = {
            name: options[name]["enum"][int(np.ravel(arrays[name])[0])]
            for name in ("learner", "correction")
        }
        model = cls(**told)
        model.n_features_in_ = int(np.ravel(arrays["features"])[0])
        model.constant_ = "constant" in arrays
        model.learner_ = stored_learner(model.learner, arrays)
        return model

    def _arrays(self, **numbers):
        """Fitted numbers by name; one that is None is empty."""
        return (
            self.learner_.numbers()
            | {name: np.empty(0) if value is None else value for name, value in numbers.items()}
            | {
                "predictions_out_of_range": self.predictions_out_of_range_,
                "constant_model": float(self.constant_),
                "converged": float(self.converged_),
            }
        )
