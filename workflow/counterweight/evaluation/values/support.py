"""What the value of a policy rests on, and whether that is enough."""

from dataclasses import dataclass

#: Below these the support is called thin: effective rows of SNIPS, those of IPS and rows with a
#: reward that the policy may have taken; and above this: share of one row in the whole sum.
FEW_ROWS, FEW_REWARDS, LARGE_SHARE = 100, 30, 0.1
#: How far weights may average from 1 before it is told: absolutely, and in standard errors, which
#: chance exceeds in one log of a thousand.
OFF, FAR = 0.02, 3.3


@dataclass(frozen=True)
class Ratio:
    """A value, its standard error and its interval."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Support:
    """What an estimate of the value of a policy rests on.

    Attributes
    ----------
    rows, clusters : int
        Of the log; of clusters about how many users they are made of, 0 where every row stands
        for itself.
    rows_agreed, rows_rewarded : int
        Rows whose action the policy may take, and those of them with a reward.
    effective_rows : float
        ``(sum u)^2 / sum u^2``, u the weights ``k w`` of SNIPS, or the terms ``k w |r|`` of IPS.
    largest_weight, largest_share : float
        Largest w; largest share of one row in ``sum u``.
    mean_weight : Ratio
        ``sum k w / sum k``, 1 where all is right.
    thin_share : float
        Share of ``sum k w`` in rows whose propensity is below the option `thin`.
    flag : str
        ``good``, ``thin`` (few rows carry the value), ``outside`` (the policy does what the log
        does not show) or ``doubtful`` (weights average more than 1, which right propensities
        do not).
    """

    rows: int
    clusters: int
    rows_agreed: int
    rows_rewarded: int
    effective_rows: float
    largest_weight: float
    largest_share: float
    mean_weight: Ratio
    thin_share: float
    flag: str


def support_flag(mean_weight, known, few):
    """Flag of `Support`, from the mean weight and what else is known."""
    gap = mean_weight.value - 1
    if abs(gap) > max(OFF, FAR * mean_weight.standard_error) and not (
        mean_weight.low <= 1 <= mean_weight.high
    ):
        return "doubtful" if gap > 0 else "outside"
    thin = known["effective_rows"] < few or known["rows_rewarded"] < FEW_REWARDS
    return "thin" if thin or known["largest_share"] > LARGE_SHARE else "good"
