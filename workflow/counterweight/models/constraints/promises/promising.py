"""Decisions of classifiers under constraints, and what they make of each promise."""

import logging
import warnings

import numpy as np

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice
from counterweight.models.constraints.promises.thresholds import repaired
from counterweight.numerics.estimator import NamedColumns
from counterweight.numerics.rates.coefficients import compile as compile_rates
from counterweight.numerics.rates.datasets import DataSets, named_masks
from counterweight.numerics.rates.language import BUILTIN_SETS, rates
from counterweight.numerics.rates.promises import plain_promises, promise_values, promises_of

REPAIR_OPTIONS = {
    "repair": Choice("everyone", ["everyone", "by_group", "none"],
        "How deterministic decisions are brought to keep the constraints on the training rows: one shift of the "
        "threshold for everybody, one for each group (which then must be known of those to decide on), or not at all."),
    "groups": Array([],
        "Data sets whose members may have thresholds of their own (by_group); where none is named, those that the "
        "constraints name.", items={"type": "string"}),
}  # fmt: skip
log = logging.getLogger("counterweight")
#: Scores are compared with thresholds after rounding to so many decimals.
DECIMALS = 12


def texts_of(options):
    """Constraints among the options of a model, as a list of texts."""
    one = options.get("constraint")
    return [*(options.get("constraints") or ()), *([one] if one else [])]


def numbers_among(options):
    """Parameters of texts among the options of a model."""
    return {name: options.get(name) for name in ("kappa", "target")}


def named_groups(options):
    """Data sets that thresholds of groups go by: named ones, else those of the constraints."""
    if options.get("groups"):
        return list(options["groups"])
    found = []
    for plain in plain_promises(texts_of(options)):
        for rate in [*rates(plain.left), *rates(plain.right)]:
            found += [name for part in rate.sets for name in part if name not in BUILTIN_SETS]
    return list(dict.fromkeys(found))


class Promises(NamedColumns):
    """What a fit makes of the promises that it was asked for; for every `RateEstimator`.

    Attributes
    ----------
    promises_ : list of Promise
        Each plain constraint on the training rows, deterministic and randomised: value, bound,
        interval and verdict. Empty where nothing is asked.
    one_answer_ : str
        "yes" or "no" where decisions under constraints are the same for all training rows.
    """

    promises_ = ()
    fit_warnings_ = ()
    one_answer_ = ""
    _seen = None

    def _settle(self, samples):
        """After a fit: decisions on the training rows, and what they make of each promise."""
        self._tell_promises(samples)

    def _tell_promises(self, samples):
        options = vars(self)
        texts = texts_of(options)
        self.promises_, self.one_answer_ = [], ""
        if texts:
            p, decided = self._seen = self.answers(samples.X, samples)
            values = promise_values(p, decided, samples, texts, numbers_among(options))
            self.promises_ = promises_of(values, texts, "training")
            decided = p > 0.5 if decided is None else decided
            self.one_answer_ = "" if 0 < decided.mean() < 1 else "yes" if decided.all() else "no"
            if self.one_answer_ and (told := self.warnings_[len(self.fit_warnings_) :]):
                log.warning("%s", told[0])

    @property
    def warnings_(self):
        """What is wrong with the result, in sentences; also logged."""
        told = list(self.fit_warnings_)
        if self.one_answer_ and not getattr(self, "collapsed_", False):
            done, why = getattr(self, "repair_", None), "."
            if done and not done["missed"]:
                why = (
                    ", since no other thresholds of those that the repair chooses from keep all "
                    "constraints: loosen them a little, set repair: by_group, or go by chances."
                )
            told.append(f"By decisions all training rows have a {self.one_answer_}{why}")
        return told

    def answers(self, X, samples=None):
        """Chances of a yes (n,), and decisions (n,) or None for chances above 1/2."""
        grouped = {"samples": samples} if getattr(self, "GROUPED", False) else {}
        return self.predict_proba(X, **grouped)[:, 1], None

    def fitted_on(self, samples):
        """The rows and data sets of the fit, where they are not all that it was given."""
        return samples

    def training_answers(self, samples):
        """`answers` for the rows of the fit; those of the fit itself are given once."""
        seen, self._seen = self._seen, None
        return self.answers(samples.X, samples) if seen is None else seen

    def test_promises(self, X, y, sample_weight=None, *, datasets=None, deployed=None, level=0.95):
        """Each promise on rows that the fit did not see: value, bound, interval and verdict.

        Arguments are those of ``fit``; a promise is kept or broken where the whole interval of
        its excess says so, else undecided.

        Returns
        -------
        list of Promise
        """
        if set(self.classes_) != {0, 1}:
            own = np.asarray(y)
            if not np.isin(own, self.classes_).all():
                raise CounterweightError(f"Labels must be of the classes {listed(self.classes_)}.")
            y = (own == self.classes_[1]).astype(int)
        samples = self._stacked(X, y, sample_weight, datasets, deployed)
        texts = texts_of(options := vars(self))
        p, decided = self.answers(samples.X, samples)
        values = promise_values(p, decided, samples, texts, numbers_among(options), level)
        return promises_of(values, texts, "test", level)


class RepairedDecisions(Promises):
    """Decisions by thresholds that keep constraints where the scores alone do not.

    Attributes
    ----------
    thresholds_ : ndarray (A,)
        A positive decision is a score above it; 0 where nothing had to be repaired.
    threshold_groups_ : ndarray (A, G)
        Who has which threshold: 1 for members of each of `named_groups`; no columns for one
        threshold for everybody.
    repair_ : dict or None
        ``excess_before``, ``excess`` by constraint, ``cost_before`` and ``cost`` (the objective,
        deterministic, on the training rows), and ``missed``: constraints that no threshold of the
        family keeps.
    """

    repair_ = None

    def _settle(self, samples):
        self._repair(samples)
        super()._settle(samples)

    @property
    def repairs_(self):
        """Whether decisions may differ from the sign of the score."""
        return self.repair != "none" and bool(texts_of(vars(self)))

    def _repair(self, samples, problem=None):
        """Find thresholds for the training rows, or for coefficients that are given."""
        self.thresholds_, self.threshold_groups_ = np.zeros(1), np.zeros((1, 0))
        self.repair_ = None
        if not self.repairs_:
            return
        options, parts = vars(self), None
        scores = self.decision_function(samples.X)
        problem = self._repair_problem(samples) if problem is None else problem
        if self.repair == "by_group":
            held = [samples.mask(((name,),)) for name in named_groups(options)]
            if held:
                members = np.column_stack(held)
                self.threshold_groups_, parts = np.unique(members, axis=0, return_inverse=True)
                parts = parts.ravel()
                self.threshold_groups_ = self.threshold_groups_.astype(float)
        found = repaired(scores, problem, parts)
        self.thresholds_ = found.thresholds
        names = problem.names
        self.repair_ = {
            "excess_before": dict(zip(names, found.before.tolist(), strict=False)),
            "excess": dict(zip(names, found.excess.tolist(), strict=False)),
            "cost_before": found.cost_before,
            "cost": found.cost,
            "missed": [names[j] for j in found.missed],
        }
        if len(found.missed):
            warnings.warn(self.repairs_told_, UserWarning, stacklevel=4)

    def _repair_problem(self, samples):
        """Objective and constraints as coefficients on some rows."""
        options = vars(self)
        return compile_rates(self.objective, texts_of(options), samples, numbers_among(options))

    @property
    def repairs_told_(self):
        """What the repair of decisions did, in a sentence; nothing where there was none."""
        done = self.repair_
        if not done or not any(over > 0 for over in done["excess_before"].values()):
            return ""
        family = {"everyone": "One threshold for everybody", "by_group": "Thresholds of groups"}
        cost = (
            f"the objective by decisions on the training rows goes from {done['cost_before']:.4g} "
            f"to {done['cost']:.4g}"
        )
        if not done["missed"]:
            return f"{family[self.repair]} keeps all constraints by decisions; {cost}."
        over = [f"{name} by {done['excess'][name]:.4g}" for name in done["missed"]]
        return (
            f"{family[self.repair]} cannot keep all constraints by decisions: what is missed "
            f"least is {listed(over, 20)}; {cost}."
        )

    def _thresholds_for(self, rows, samples):
        """The threshold of each row: a number, or (n,) where groups have their own."""
        names = named_groups(vars(self)) if self.repair == "by_group" else []
        thresholds = np.ravel(getattr(self, "thresholds_", np.zeros(1)))
        if not thresholds.size:
            return 0.0
        if not names or not thresholds.any():
            return float(thresholds[0]) if not names else 0.0
        if samples is None or len(samples) != rows:
            raise CounterweightError(
                "Thresholds of groups need the groups of each row to decide: give datasets, with a "
                f"mask over these {rows} rows for each of {listed(names)}."
            )
        missing = [name for name in names if name not in samples.members]
        if missing:
            raise CounterweightError(
                f"The rows to decide on have no data set {listed(missing)}; they have "
                f"{listed(samples.members) or 'none'}."
            )
        members = np.column_stack([samples.members[name] for name in names])
        # Combinations of groups that no training row was in keep the score's own sign.
        of_row = np.zeros(rows)
        known = np.reshape(self.threshold_groups_, (len(thresholds), len(names))) > 0.5
        for own, threshold in zip(known, thresholds, strict=True):
            of_row[(members == own).all(axis=1)] = threshold
        return of_row

    def answers(self, X, samples=None):
        """Chances of a yes (n,), and decisions (n,) or None where they go by the score's sign."""
        scores = self.decision_function(X)
        p = self._randomised(scores)[:, 1]
        if not self.repairs_:
            return p, None
        return p, self._above(scores, samples)

    def _above(self, scores, samples):
        # Rounded, so that no decision hangs on the order in which a score was added up.
        return np.round(scores - self._thresholds_for(len(scores), samples), DECIMALS) > 0

    def predict(self, X, samples=None, datasets=None):
        """The deterministic classifier: the second class where f is above the threshold.

        Parameters
        ----------
        X : array or scipy.sparse matrix (n, d)
        samples : DataSets, optional
        datasets : dict as of ``fit``, or data frame of masks, optional
            Members of the groups, for ``repair: by_group``; in place of `samples`. Columns and
            functions that were given to ``fit`` are known.
        """
        scores = self.decision_function(X)
        if datasets is None and samples is None and self.repair == "by_group":
            datasets = self.data_set_rules_ or None
        if datasets is not None:
            datasets = named_masks(datasets, X)
            samples = DataSets(None, np.full(len(scores), -1), None, datasets)
        return self.classes_[self._above(scores, samples).astype(int)]
