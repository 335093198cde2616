"""Labeled rows that methods were tried on, with the weights that they stand for the target by."""

from dataclasses import dataclass

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.files.tables import read_columns


@dataclass
class Tried:
    """Out-of-fold predictions of several methods on the same labeled rows.

    Attributes
    ----------
    row : array (M,)
    y, weight, design : array (M,)
        Outcomes; weights to the target population, of mean 1; design weights.
    group : array (M,) or None
    predictions : list of array (M,)
        In the order of the files.
    binary : bool
    """

    row: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    design: np.ndarray
    group: np.ndarray | None
    predictions: list
    binary: bool

    @classmethod
    def read(cls, labels, weights, predictions):
        """From Parquet files: labels, weights (or an empty list), predictions of each method.

        Raises
        ------
        CounterweightError
            When the files are of different rows.
        """
        labels = read_columns(labels)
        labeled = labels["selected"] == 1
        rows, design = labels["row"][labeled], labels["weight"][labeled]
        weight = design / design.mean()
        if weights:
            weight = read_columns(weights)["weight"]
        tables = [read_columns(path) for path in predictions]
        tried = tables[0]["row"]
        where = np.searchsorted(rows, tried)
        if len(weight) != len(rows) or any(
            not np.array_equal(table["row"], tried) for table in tables
        ):
            raise CounterweightError(
                "Predictions and weights are of other rows than the labels: delete the results of "
                "the study and run again."
            )
        y, group = labels["y"][labeled], labels["group"][labeled]
        return cls(
            row=tried,
            y=y[where],
            weight=weight[where],
            design=design[where],
            group=group[where] if group.min() >= 0 else None,
            predictions=[table["p"] for table in tables],
            binary=bool(np.isin(y, (0.0, 1.0)).all()),
        )
