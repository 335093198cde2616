"""Value of a policy in one call: from arrays, or from a Parquet log of any size."""

import warnings

from counterweight.evaluation.values.value import PolicyValue
from counterweight.files import streams


def ips(reward, propensity, target, *, keep_rate=None, rows=None, reward_range=None, level=0.95):
    """IPS value of a policy, from arrays; see `PolicyValue.ips` and, without the number of
    rows for a log whose zero-reward rows were kept at rates below 1, `PolicyValue.ips_lost`.

    Returns
    -------
    Estimate
    """
    log = PolicyValue(("ips", "ips_lost"), reward_range=reward_range, level=level)
    _warned(log.update(reward, propensity, target, keep_rate=keep_rate))
    return log.ips_lost() if rows is None and log.subsampled else log.ips(rows)


def snips(reward, propensity, target, *, keep_rate=None, rows=None, reward_range=None, level=0.95):
    """Self-normalised IPS value of a policy, from arrays; see `PolicyValue.snips`.

    Returns
    -------
    Estimate
    """
    log = PolicyValue(("snips",), reward_range=reward_range, level=level)
    return _warned(log.update(reward, propensity, target, keep_rate=keep_rate)).snips(rows)


def doubly_robust(
    reward, propensity, target, q, v, *, keep_rate=None, rows=None, reward_range=None, level=0.95
):
    """Doubly robust value of a policy, from arrays; see `PolicyValue.dr`.

    Returns
    -------
    Estimate
    """
    log = PolicyValue(("dr",), reward_range=reward_range, level=level)
    return _warned(log.update(reward, propensity, target, keep_rate=keep_rate, q=q, v=v)).dr(rows)


def value_from_parquet(
    path,
    *,
    reward="reward",
    propensity="propensity",
    target="p",
    keep_rate=None,
    q=None,
    v=None,
    rows=None,
    estimators=("ips", "snips"),
    reward_range=None,
    level=0.95,
    size=streams.BATCH,
):
    """Value of a policy from a Parquet log, read once and a batch of rows at a time.

    A second thread decodes the next batch; memory does not grow with the rows.

    Parameters
    ----------
    path : str or Path, or sequence of these
        A file, the parts of a log, or a folder of `.parquet` files.
    reward, propensity, target : str
        Columns of numbers (decimals and booleans too).
    keep_rate : str or float, optional
        Column of the keep rates of zero-reward rows, or the rate of all.
    q, v : str, optional
        Columns of the reward model, for ``dr``.
    rows : int, optional
        Number of rows before zero-reward rows were dropped, if any were.
    estimators : sequence of str
        Of ``ips``, ``ips_lost``, ``snips`` and ``dr``.
    reward_range : (float, float), optional
    level : float
    size : int
        Rows a batch.

    Returns
    -------
    dict of str to Estimate
        One for each estimator.

    Raises
    ------
    CounterweightError
        See `PolicyValue`; and when the file or a column is missing.

    Warns
    -----
    UserWarning
        When the policy never takes some of the logged actions.
    """
    by_row = isinstance(keep_rate, str)
    names = {"reward": reward, "propensity": propensity, "target": target, "q": q, "v": v}
    names["keep_rate"] = keep_rate if by_row else None
    names = {key: name for key, name in names.items() if name is not None}
    log = PolicyValue(estimators, reward_range=reward_range, level=level, names=names)
    columns = dict.fromkeys(names.values())
    for batch in streams.ahead(streams.log_batches(path, columns, size)):
        rated = {"keep_rate": None if by_row else keep_rate}
        log.update(**rated | {key: batch[name] for key, name in names.items()})
    _warned(log)
    return {
        name: log.ips_lost() if name == "ips_lost" else getattr(log, name)(rows)
        for name in log.estimators
    }


def _warned(log):
    if log.note():
        warnings.warn(log.note(), stacklevel=3)
    return log
