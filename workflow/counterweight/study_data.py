"""What the stages after labeling see of a study."""

import numpy as np

from counterweight.errors import CounterweightError


class StudyData:
    """What a method may see of a study: features, roles, seen labels, weights.

    Parameters
    ----------
    features : pandas.DataFrame
        ``row`` and the features.
    labels : pandas.DataFrame
        Roles and seen labels of all repeats.
    weights : pandas.DataFrame, optional
        ``repeat, row, weight`` of the labeled rows.
    truth : pandas.DataFrame, optional
        Hidden labels: only for an oracle.
    """

    def __init__(self, features, labels, weights=None, truth=None):
        self.rows = features["row"].to_numpy()
        self.names = list(features.columns[1:])
        self.X = features[self.names].to_numpy(dtype=float)
        self.labels = _by_repeat(labels)
        self.weights = None if weights is None else _by_repeat(weights)
        self.truth = None if truth is None else _by_repeat(truth)

    def positions(self, repeat, mask):
        """Positions in `X` of the rows of a repeat where `mask` holds."""
        return np.searchsorted(self.rows, self.labels[repeat]["row"].to_numpy()[mask])

    def role(self, repeat, name):
        """Mask over the rows of a repeat."""
        return (self.labels[repeat]["role"] == name).to_numpy()

    def selected_share(self, repeat):
        """Labeled rows as a share of all training rows."""
        labeled = self.role(repeat, "labeled").sum()
        return labeled / (labeled + self.role(repeat, "unlabeled").sum())

    def training(self, repeat, target):
        """``X, y, weight`` to learn from; an oracle gets the target's own rows and labels."""
        labels = self.labels[repeat]
        if self.truth is not None:
            mask = labels["role"] != "test" if target == "general" else self.role(repeat, "unlabeled")
            mask = np.asarray(mask)
            y = self.truth[repeat][f"y_{target}"].to_numpy()[mask]
        else:
            mask = self.role(repeat, "labeled")
            y = labels[f"y_{target}"].to_numpy(dtype=float, na_value=np.nan)[mask]
        where = self.positions(repeat, mask)
        weight = None
        if self.weights is not None:
            table = self.weights[repeat]
            if not np.array_equal(table["row"].to_numpy(), self.rows[where]):
                raise CounterweightError(
                    f"The weights of repeat {repeat} are not those of its labeled rows: delete the "
                    "weights folder of the study and run again."
                )
            weight = table["weight"].to_numpy()
        return self.X[where], y.astype(int), weight

    def test(self, repeat, target):
        """Positions in `X` of the test rows that stand for the target population."""
        mask = self.role(repeat, "test")
        if target == "unlabeled":
            mask = mask & (self.labels[repeat]["selected"] == 0).to_numpy()
        return self.positions(repeat, mask)


def _by_repeat(table):
    return {
        int(repeat): part.reset_index(drop=True)
        for repeat, part in table.groupby("repeat", sort=True)
    }
