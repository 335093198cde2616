"""What a weighting sees, and the one way from a study's rows to capped weights."""

from dataclasses import dataclass, field

import numpy as np

from counterweight.fragments import Choice
from counterweight.weighting.diagnostics import cap_weights

#: Option of weightings that can make the labeled rows stand for either population.
TARGET_OPTION = {
    "target": Choice("general", ["general", "unlabeled"], "Whom the weighted rows stand for: all training rows, or the unlabeled."),
}  # fmt: skip
#: The populations in print, in labels of weightings that have the option.
TARGET_LABELS = {"target": {"general": "everybody", "unlabeled": "the unlabeled"}}


@dataclass
class Rows:
    """Training rows of one repeat, as a weighting with ``SEES = "rows"`` gets them.

    Attributes
    ----------
    X_labeled : array (M, d)
    y_labeled : array (M,)
        Labels of the labeled rows; numbers where the outcome is one.
    X_unlabeled : array (N, d)
    rng : numpy.random.Generator or None
    p : array (M,) or None
        Calibrated p(s=1|x) of the labeled rows; None where the weighting declares
        ``NEEDS_P = False``.
    names : sequence of str
        Of the d features.
    facts : dict of str to float or (float, float)
        What the weighting found out, for the tables of measurements: it may add to it, numbers
        alone or with their standard errors.
    """

    X_labeled: np.ndarray
    y_labeled: np.ndarray
    X_unlabeled: np.ndarray
    rng: np.random.Generator | None = None
    p: np.ndarray | None = None
    names: tuple = ()
    facts: dict = field(default_factory=dict)

    @classmethod
    def of(cls, data, repeat, target, p=None, rng=None):
        """Rows of one repeat of a study (`counterweight.files.study_data.StudyData`)."""
        labels = data.labels[repeat]
        masks = [data.role(repeat, name) for name in ("labeled", "unlabeled")]
        X_labeled, X_unlabeled = (data.X[data.positions(repeat, mask)] for mask in masks)
        # A study of one target has the labels of that one, which are those of its labeled rows.
        told = f"y_{target}" if f"y_{target}" in labels else None
        told = told or next(name for name in labels if name.startswith("y_"))
        y = labels[told][masks[0]]
        return cls(X_labeled, y, X_unlabeled, rng, p, tuple(data.names))

    @property
    def share(self):
        """Labeled rows as a share of all training rows."""
        return len(self.X_labeled) / (len(self.X_labeled) + len(self.X_unlabeled))

    def population(self, target):
        """Rows of ``general`` (everybody) or ``unlabeled``, (T, d)."""
        if target == "unlabeled":
            return self.X_unlabeled
        return np.concatenate([self.X_labeled, self.X_unlabeled])


def made_weights(component, spec, rows):
    """Weights of labeled rows by a weighting of a study.

    Parameters
    ----------
    component : callable
        The weighting.
    spec : dict
        ``sees``, ``options`` and ``max_weight`` of the weighting.
    rows : Rows

    Returns
    -------
    raw, weights : array (M,)
        Before and after the cap.
    capped : int
        Rows whose weight was cut.
    """
    if spec["sees"] == "rows":
        raw = component(rows, **spec["options"])
    else:
        raw = component(rows.p, rows.share, **spec["options"])
    return np.asarray(raw, float), *cap_weights(raw, spec["max_weight"])


def from_odds(odds, share, target):
    """Weights from odds p(s=0|.) / p(s=1|.) of the labeled rows, by the two lemmas.

    Lemma 2 towards the unlabeled; towards everybody Lemma 1, which is share + (1 - share) times it.

    Parameters
    ----------
    odds : array (M,)
    share : float
        Labeled rows as a share of all.
    target : {"general", "unlabeled"}

    Returns
    -------
    numpy.ndarray, shape (M,)
    """
    return share / (1 - share) * odds if target == "unlabeled" else share * (1 + odds)


def fact_records(rows):
    """What a weighting found out, as metric records."""
    records = []
    for metric, told in rows.facts.items():
        value, *error = np.atleast_1d(told)
        record = {"metric": metric, "value": float(value), "rows": len(rows.X_labeled)}
        records.append(record | ({"standard_error": float(error[0])} if error else {}))
    return records
