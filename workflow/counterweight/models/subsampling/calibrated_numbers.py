"""Rewards that are numbers, learned from rows that lost zeros: no weights, then a calibration."""

import numpy as np

from counterweight.fragments import Choice, Integer
from counterweight.models.scores.boosting import BoostedScore
from counterweight.models.scores.linear import LinearScore
from counterweight.models.subsampling.calibration import SplineCalibrator

KIND = "blanks"
OPTIONS = {
    "learner": Choice("boosting", ["linear", "boosting"], "What learns from the rows as they are, without weights."),
    "bins": Integer(20, "Bins of equal count of the calibration.", minimum=1),
}  # fmt: skip
LABEL = "{learner}, calibrated"
VALUE_LABELS = {"learner": {"linear": "Linear model", "boosting": "Gradient boosting"}}
LEARNERS = {"linear": LinearScore, "boosting": BoostedScore}
#: Parts of the rows, each scored by a learner of the others.
FOLDS = 5


class CalibratedNumbers:
    """Expected reward by a learner of the rows as they are, then by weighted means of its score.

    Rows that stand for more than themselves, as zeros that were kept at a rate do, count once in
    learning and by their weight in the calibration, which is by mean: in bins of the score of rows
    that were left out of learning, the mean score is told to be the weighted mean reward, and
    between bins the line between them; falling bins are pooled. A rare rate then does not make a
    few zeros carry the fit. It assumes that the expected reward rises with what is expected among
    the rows as they are, as it does where zeros were dropped at one rate.

    Parameters
    ----------
    learner, bins
        See `OPTIONS`.

    References
    ----------
    Mineiro, P. (2010). The Unimportance of Zeroes. Regression section.
    """

    binary_, converged_ = False, True

    def __init__(self, learner="boosting", bins=20):
        self.learner, self.bins = learner, bins

    def fit(self, rows, y, weight=None, *, binary, rng=None):
        """Fit; parameters as `counterweight.models.scores.linear.LinearScore.fit`."""
        order = rng.permutation(len(y))
        fold, score = np.empty(len(y), int), np.empty(len(y))
        fold[order[np.argsort(y[order] != 0, kind="stable")]] = np.arange(len(y)) % FOLDS
        for part in range(FOLDS):
            own = fold == part
            model = LEARNERS[self.learner]().fit(rows.take(~own), y[~own], binary=False)
            score[own] = model.predict(rows.take(own))
        self.model_ = LEARNERS[self.learner]().fit(rows, y, binary=False)
        bounds = (None, "flat")
        spline = SplineCalibrator(self.bins, bounds, monotone=True).fit(score, y, None, weight)
        self.knots_, self.means_ = spline.control_scores_, spline.control_rewards_
        return self

    def predict(self, rows):
        """Expected reward of all rows that there were, (n,)."""
        return self.answers(self.model_.predict(rows))

    def answers(self, raw):
        """What `predict` makes of raw scores."""
        return np.interp(raw, self.knots_, self.means_)

    def explained(self, rows):
        """Raw score, its mean, contributions; see `counterweight.models.scores.contributions`."""
        return self.model_.explained(rows)

    def to_arrays(self):
        """Fitted numbers by name."""
        own = {f"learner_{name}": values for name, values in self.model_.to_arrays().items()}
        known = {"boosting": float(self.learner == "boosting"), "converged": 1.0}
        return own | known | {"knots": self.knots_, "means": self.means_}

    @classmethod
    def from_arrays(cls, arrays):
        """Fitted model from `to_arrays`."""
        made = cls("boosting" if float(arrays["boosting"]) else "linear")
        begin = "learner_"
        own = {
            name.removeprefix(begin): values
            for name, values in arrays.items()
            if name.startswith(begin)
        }
        made.model_ = LEARNERS[made.learner].from_arrays(own)
        made.knots_, made.means_ = np.ravel(arrays["knots"]), np.ravel(arrays["means"])
        return made
