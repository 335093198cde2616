"""Protocol: value of a policy from a log, whole and with its zero-reward rows rejected.

The value is estimated on resamplings of the log at every keep rate, next to a truth; with
it go the identities behind the rejection and the bias of the ratio estimator. Files are read
in step, a batch of rows at a time.

References
----------
Mineiro, P. (2010). The Unimportance of Zeroes. Machined Learnings.
"""

import numpy as np

from counterweight.errors import CounterweightError
from counterweight.evaluation.options import LEVEL, RATES
from counterweight.evaluation.values.log_resamples import bootstrap, ratio_bias, split
from counterweight.files import streams
from counterweight.files.tables import read_columns
from counterweight.fragments import Choice, Integer, Option

KIND = "log"
OPTIONS = {
    "keep_rates": Option([1.0, 0.5, 0.1, 0.01], "Rates at which the zero-reward rows of the log are kept.", **RATES),
    "resamplings": Integer(200, "Number of resamplings of the log.", minimum=2),
    "resample": Choice("bootstrap", ["bootstrap", "split"],
        "bootstrap: draw the rows of the log anew with replacement (held in memory). split: cut the log into as many "
        "consecutive parts of equal size, read once and never held."),
    **LEVEL,
}  # fmt: skip
LABEL = "values of policies from logs"
VALUE_LABELS = {
    "measure": {
        "ips": "IPS",
        "ips_lost": "IPS without the count",
        "snips": "SNIPS",
        "dr": "Doubly robust",
    }
}

COLUMNS = ("row", "role", "propensity", "reward")


def policy_value(
    labels,
    predictions,
    truth,
    *,
    policy="",
    seed=0,
    stream="",
    keep_rates=(1.0, 0.5, 0.1, 0.01),
    resamplings=200,
    resample="bootstrap",
    level=0.95,
):
    """Records of the value of one policy in one study.

    Parameters
    ----------
    labels : str or Path
        Parquet with ``row, role, propensity, reward``; rows of role ``log`` are
        used, in their order. With ``cluster``, the number of each row's user, intervals are those
        of users, and the bootstrap draws users whole.
    predictions : str or Path
        Parquet with ``row`` and ``p``, the probability that the policy gives the logged
        action, and perhaps ``q`` and ``v`` of a reward model; rows as in `labels`.
    truth : str or Path
        Parquet with ``policy, value, standard_error, rows``.
    policy : str
        Line of `truth`; the line of "" is used where there is none of this name.
    seed : int
        Seed of the config.
    stream : str
        What the random numbers are for: the study. The rows kept do not depend on the
        policy.
    keep_rates : sequence of float
    resamplings : int
    resample : {"bootstrap", "split"}
    level : float

    Returns
    -------
    list of dict
        For ``tables.metrics_table``; target ``general``.

    Raises
    ------
    CounterweightError
        When labels and predictions are of different rows, the log is empty or too short, or
        holds what `PolicyValue` refuses.

    Notes
    -----
    Of the metrics, ``covered`` says whether an interval holds the truth, and
    ``covered_whole`` whether it holds the value of the whole log: the population of the
    bootstrap, whose intervals can hold the truth at their level only if the log does.
    Where the interval or the estimate does not exist (no reward was seen), the records are
    left out and counted by ``values_missing``.
    """
    known = _truth(truth, policy)
    rates = sorted({float(rate) for rate in keep_rates}, reverse=True)
    log = LogReader(labels, predictions)
    run = split if resample == "split" else bootstrap
    whole, short, records = run(log, rates, resamplings, level, known["value"], seed, stream)
    records += whole_records(whole, known)
    records += ratio_bias(short, whole.all_rows.ips().value, seed, stream)
    return [{"target": "general"} | record for record in records]


def whole_records(whole, known):
    """Records of the whole log, at repeat 0: with all its rows, and at each keep rate.

    Parameters
    ----------
    whole : LogAtRates
    known : mapping
        ``value``, ``standard_error`` and ``rows`` of the truth.
    """
    full = whole.all_rows
    records = [
        {
            "metric": "truth",
            "value": known["value"],
            "rows": known["rows"],
            "standard_error": known["standard_error"],
        },
        {"metric": "rows_unsupported", "value": full.rows_unsupported, "rows": full.rows},
    ]
    for rate, log in {None: full, **whole.at_rate}.items():
        for name in whole.estimators:
            estimate = whole.estimate(log, name)
            if estimate is None:
                continue
            place = {"measure": name, "keep_rate": rate, "rows": log.rows}
            error = {"standard_error": estimate.standard_error}
            records.append(place | error | {"metric": "whole_value", "value": estimate.value})
            for metric, value in (
                ("whole_low", estimate.low),
                ("whole_high", estimate.high),
                ("effective_rows", estimate.effective_rows),
                ("largest_weight", estimate.largest_weight),
            ):
                records.append(place | {"metric": metric, "value": value})
    return records


class LogReader:
    """Rows of role ``log`` of a study with their predictions, read in step.

    Parameters
    ----------
    labels, predictions : str or Path

    Attributes
    ----------
    estimators : tuple of str
        What the predictions allow: ``dr`` needs the columns ``q`` and ``v``.
    """

    def __init__(self, labels, predictions):
        self.labels, self.predictions = labels, predictions
        modelled = {"q", "v"} <= set(streams.column_names(predictions))
        rated = "keep_rate" in streams.column_names(labels)
        self._labels = (*COLUMNS, "keep_rate") if rated else COLUMNS
        self._labels += ("cluster",) if "cluster" in streams.column_names(labels) else ()
        self._columns = ("row", "p", "q", "v") if modelled else ("row", "p")
        self.estimators = ("ips", "ips_lost", "snips", "dr")[: 4 if modelled else 3]

    def count(self):
        """Number of rows of role ``log``."""
        return sum(
            int(_is_log(batch["role"]).sum())
            for batch in streams.batches(self.labels, ["role"], categories=["role"])
        )

    def __iter__(self):
        """Batches of arrays by ``row, reward, propensity, target``, perhaps ``q, v, cluster``."""
        sources = (self.labels, self._labels, ("role",)), (self.predictions, self._columns, ())
        start = 0
        for ours, theirs in streams.together(sources):
            differ = ours["row"] != theirs["row"]
            if differ.any():
                first = int(np.argmax(differ))
                raise CounterweightError(
                    f"{self.predictions} is not of the rows of {self.labels}: line {start + first} "
                    f"has the row id {theirs['row'][first]}, not {ours['row'][first]}; delete the "
                    "predictions of the study and run again."
                )
            start += len(differ)
            used = _is_log(ours.pop("role"))
            if "keep_rate" in ours and (ours.pop("keep_rate")[used] < 1).any():
                raise CounterweightError(
                    f"{self.labels} holds a log whose zero-reward rows were already rejected "
                    "(labeling.keep_rate), and this protocol rejects rows of whole logs itself: "
                    "estimate the value of such a log with counterweight.value_from_parquet."
                )
            batch = ours | {"target": theirs["p"]}
            batch |= {name: theirs[name] for name in ("q", "v") if name in theirs}
            if not used.all():
                batch = {name: values[used] for name, values in batch.items()}
            if used.any():
                yield batch


def _is_log(role):
    codes, names = role
    return np.array([name == "log" for name in names] or [False])[codes]


def _truth(path, policy):
    table = read_columns(path)
    names = [str(name) for name in table["policy"]]
    name = policy if policy in names else ""
    if name not in names:
        raise CounterweightError(
            f"{path} has no value of the policy {policy!r}: delete it and run again."
        )
    line = names.index(name)
    return {key: table[key][line].item() for key in ("value", "standard_error", "rows")}
