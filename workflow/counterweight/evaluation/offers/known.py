"""What is known of the rows of one repeat of a study of offers, the truth included."""

from typing import NamedTuple

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.offers.regressions import imbalance
from counterweight.evaluation.offers.value import offer_density
from counterweight.models.choice.offers import acceptance
from counterweight.numerics.gaussian_mixture import Mixture


class ErrorNames(NamedTuple):
    """Names of the root mean squared errors of one part of the rows."""

    every: str
    component: str
    floor: str


TRAINING = ErrorNames("rmse", "rmse_component", "rmse_floor")
TESTING = ErrorNames("rmse_test", "rmse_component_test", "rmse_floor_test")


class Repeat:
    """What is known of the rows of one repeat.

    Parameters
    ----------
    labels, truth : dict of str to array
    X : ndarray (n, d)
    scaling : (OfferScale, ndarray or None)
        From ``offer_training.scale_of``.
    mixture : dict or None
    density : (str, int)
        Kind and bins.
    like : Repeat, optional
        Another one; where people and offers are the same, so is the density of the offers.
    """

    def __init__(self, labels, truth, X, scaling, mixture, density, like=None):
        order = np.argsort(truth["row"], kind="stable")
        at = np.searchsorted(truth["row"][order], labels["row"])
        at = order[np.minimum(at, len(order) - 1)]
        if not np.array_equal(truth["row"][at], labels["row"]):
            raise CounterweightError(
                "Labels and truth are not of the same rows: delete the results of the study and "
                "run again."
            )
        self.truth = {name: np.asarray(values)[at] for name, values in truth.items()}
        self.answer = np.asarray(self.truth["answer"], dtype=float).astype(int)
        self.t, self.offer = labels["t"], labels["offer"]
        self.X, (self.scale, self.grid) = X, scaling
        self.train = labels["role"] == "train"
        self.used = ~self.train if (~self.train).any() else self.train
        self.roles = [(TRAINING, self.train)]
        if (~self.train).any():
            self.roles.append((TESTING, ~self.train))
        self.p = self.truth.get("p")
        self.curved = self.p is not None and {"eta", "k"} <= set(self.truth)
        self.mixture = None
        if mixture is not None and X.shape[1] == np.shape(mixture["means"])[1]:
            self.mixture = Mixture(*(mixture[name] for name in ("weights", "means", "covariances")))
        self._density, self._made, self._like = density, None, like

    @property
    def density(self):
        """Distribution of the logged offers given the features, of all rows."""
        if self._made is None and self._like is not None:
            like, given = self._like, (self.t, self.X)
            pairs = zip(given, (like.t, like.X), strict=True)
            if all(np.array_equal(*pair, equal_nan=True) for pair in pairs):
                self._made = like.density
        if self._made is None:
            kind, bins = self._density
            self._made = offer_density(self.X, self.t, kind, bins)
        return self._made

    def posterior(self):
        """True p(component | x), (n, J), and the curves of the components; or None."""
        if self.mixture is None or not self.curved or "component" not in self.truth:
            return None
        component = self.truth["component"].astype(int)
        J = len(self.mixture.weights)
        if component.min() < 0 or component.max() >= J:
            raise CounterweightError(
                f"The truth has a component {component.max()}, but the mixture that drew the rows "
                f"has {J}, numbered from 0: prepare the data set anew."
            )
        curves = np.zeros((J, 2))
        for j in np.unique(component):
            first = int(np.argmax(component == j))
            curves[j] = self.truth["eta"][first], self.truth["k"][first]
        with np.errstate(divide="ignore"):
            joint = self.mixture.component_log_density(self.X) + np.log(self.mixture.weights)
        joint = np.exp(joint - joint.max(axis=1, keepdims=True))
        return joint / joint.sum(axis=1, keepdims=True), curves

    def component_facts(self):
        """What each true component is like, as columns, as far as it is known."""
        if "component" not in self.truth:
            return {}
        component = self.truth["component"].astype(int)
        held = np.unique(component[self.train])
        share = [self.answer[self.train & (component == j)].mean() for j in held]
        facts = {"component": held, "imbalance": imbalance(share)}
        if self.curved:
            first = [int(np.argmax(component == j)) for j in held]
            facts |= {name: self.truth[name][first] for name in ("eta", "k")}
        if self.mixture is not None and len(self.mixture.weights) > max(1, held.max()):
            from counterweight.datasets.generated.segments import overlaps

            facts["overlap"] = overlaps(self.mixture.means, self.mixture.covariances)[held]
        return facts

    def fact_records(self):
        """`component_facts` as records."""
        facts = self.component_facts()
        return [
            {"metric": f"component_{name}", "part": str(j), "value": float(value)}
            for name, values in facts.items()
            if name != "component"
            for j, value in zip(facts["component"], values, strict=True)
        ]

    def floor_records(self):
        """RMSE by the true parameters where only the component is unknown: hard and soft."""
        known = self.posterior()
        if known is None:
            return []
        weights, curves = known
        by_curve = acceptance(np.asarray(self.t)[:, None], *curves.T)
        hard = by_curve[np.arange(len(weights)), weights.argmax(axis=1)]
        said = {"hard": hard, "soft": (weights * by_curve).sum(axis=1)}
        return [
            {
                "metric": names.floor,
                "setting": name,
                "value": rmse(p, self.p, rows),
                "rows": int(rows.sum()),
            }
            for name, p in said.items()
            for names, rows in self.roles
        ]


def rmse(p, truth, rows):
    return float(np.sqrt(np.mean((p[rows] - truth[rows]) ** 2)))
