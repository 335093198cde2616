"""SVM whose classes are weighted until false positives on held-out rows stay within a bound."""

import hashlib
import weakref
from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.fragments import Array, Number
from counterweight.models.constraints.linear_svm import HingeRows, best_penalty
from counterweight.models.constraints.options import SVM_OPTIONS
from counterweight.models.constraints.svm_baseline import SvmBaseline, labeled_rows

OPTIONS = {
    "target": Number(..., "Most false positives, as a share of the labeled negatives.", above=0, below=1),
    "shares": Array([0.02, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7],
        "Shares of all weight that the positives may have, to choose from.",
        items={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}, minItems=1),
    **SVM_OPTIONS,
}  # fmt: skip
LABEL = "Weighted SVM (Davenport et al.)"
ROLE = "peer"
RULE = "deterministic"

#: Rates of held-out rows by data sets; they do not depend on the target.
_RATES = weakref.WeakKeyDictionary()


@dataclass(eq=False, repr=False)
class NeymanPearsonSVM(SvmBaseline):
    """A linear SVM with a weight for each class, chosen by the Neyman-Pearson criterion.

    The 2nu-SVM of Davenport, Baraniuk & Scott (2010), in its equal form with two costs: the
    hinge losses of the positives have the share s of all weight. Of some s that is taken whose
    classifier, fitted to four fifths of the labeled rows of each class, has on the fifth that it
    did not see the least

        max(FPR - target, 0) / target + FNR,

    the criterion of Scott (2007). It is then fitted to all labeled rows. The bound is aimed at,
    not promised: no row that chose s is left to certify it.

    Parameters
    ----------
    target : float
        In (0, 1).
    shares : sequence of float
    penalty, penalties, bias, standardise
        See `OPTIONS`.

    Attributes
    ----------
    coef_, intercept_, objective_, gap_, penalty_, evaluations_
        See `SvmBaseline`.
    share_ : float
        The share s.
    criterion_ : float
        The criterion of held-out rows.
    """

    target: float
    shares: tuple = tuple(OPTIONS["shares"]["default"])

    FITTED = SvmBaseline.FITTED | {"share": "share_", "criterion": "criterion_"}
    NUMBERS = SvmBaseline.NUMBERS | {"share": float, "criterion": float}
    _options = OPTIONS
    features = "none"

    def _fit(self, samples, rng):
        """Refuses a class of a single row: one is held out and one learned from."""
        seen = labeled_rows(samples)
        self.map_ = None
        rows, scale, centre = self._solver_rows(samples.X)
        X, y, weight = rows[seen], samples.y[seen] > 0, samples.weight[seen]
        order = rng.permutation(len(y))
        held = np.zeros(len(y), bool)
        for rows_of_one in (order[y[order]], order[~y[order]]):
            if len(rows_of_one) < 2:
                raise CounterweightError(
                    "The weight of classes is chosen on a fifth of the labeled rows of each class, "
                    "and one class has a single row: more labeled rows are needed."
                )
            held[rows_of_one[: max(1, len(rows_of_one) // 5)]] = True
        told = X, y, weight, self.penalty, self.penalties
        penalty = best_penalty(*told, self.bias, rng)
        parts = (y, weight, seen, held, np.asarray(self.shares))
        digests = tuple(hashlib.sha256(part.tobytes()).digest() for part in parts)
        key = (id(samples.X), penalty, self.bias, self.standardise, *digests)
        known = _RATES.setdefault(samples, {})
        if key not in known:
            known[key] = self._held_out_rates(X, y, weight, held, penalty)
        alarms, missed = known[key]
        criterion = np.maximum(alarms - self.target, 0) / self.target + missed
        # Of equals the one with the fewest false alarms: shares rise.
        best = int(np.argmin(criterion))
        self.share_, self.criterion_ = sorted(self.shares)[best], float(criterion[best])
        hinges = HingeRows(X, y, _shared(y, weight, self.share_), penalty, self.bias)
        svm = hinges.solve()
        self.penalty_, self.gap_, self.objective_ = hinges.penalty, svm.gap, svm.objective
        self.evaluations_ = svm.evaluations
        self._keep_score(svm.coefficient, svm.intercept, scale, centre)

    def _held_out_rates(self, X, y, weight, held, penalty):
        """False positive and false negative rates of the rows `held`, by share."""
        rates, svm, kept = [], None, ~held
        for share in sorted(self.shares):
            shared = _shared(y[kept], weight[kept], share)
            hinges = HingeRows(X[kept], y[kept], shared, penalty, self.bias)
            svm = hinges.solve(tolerance=1e-4, start=svm)
            positive = np.asarray(X[held] @ svm.coefficient).ravel() + svm.intercept > 0
            rates.append(
                [
                    np.average(wrong[rows], weights=weight[held][rows])
                    for wrong, rows in ((positive, ~y[held]), (~positive, y[held]))
                ]
            )
        return np.array(rates).T


def _shared(y, weight, share):
    """Weights (n,) of which the positives have `share` in all, the negatives the rest."""
    totals = np.where(y, share / weight[y].sum(), (1 - share) / weight[~y].sum())
    return weight * totals
