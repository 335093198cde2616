"""What pages of offers say of limits that these keep together, and of the next experiment."""

from counterweight.reporting.numbers import Estimate
from counterweight.reporting.sheets import Column, Line, Sheet
from counterweight.reporting.wording import capital, percent


def asked(numbers, metric, part=""):
    """A number of what was asked beyond best offers; None where it was not."""
    found = numbers.rows("delivered", metric)
    found = found[found["part"] == part]
    return float(found["value"].iloc[0]) if len(found) else None


#: What limits are called in sentences.
_LIMITS = {
    "capacity": "who accept",
    "budget": "given away",
    "quality": "mean quality of those who accept",
    "share": "share of the group among those who accept",
}


def limits_of(numbers):
    """Names of the limits that offers were to keep."""
    return [name for name in _LIMITS if asked(numbers, "limit_used", name) is not None]


def within_limits(numbers):
    """Sentences on offers within limits, and on the next experiment."""
    value = asked(numbers, "allotted_revenue")
    if value is not None:
        free, greedy, none = (
            asked(numbers, f"allotted_{name}") for name in ("free", "greedy", "none")
        )
        cost = f", {percent(1 - value / free, 1)} less than without limits" if free > value else ""
        beside = ""
        if greedy is not None and limits_of(numbers):
            beside = f"; the rule of the best people first would earn {greedy:,.4g}"
        left = f"; {none:,.0f} people get none" if none else ""
        yield (
            f"Offers within the limits (allotted_offer in the files) are expected to earn "
            f"{value:,.4g} together{cost}{beside}{left}."
        )
        for name in limits_of(numbers):
            used, bound, price = (
                asked(numbers, f"limit_{what}", name) for what in ("used", "bound", "price")
            )
            sure = asked(numbers, "limit_confidence", name)
            how = f", kept with confidence {percent(sure, 0)}" if sure else ""
            least = "at least" if name in ("quality", "share") else "at most"
            worth = f"; one more would earn {price:,.3g}" if price and least == "at most" else ""
            does = "" if price else "; it changes nothing"
            yield (
                f"Expected {_LIMITS[name]}: {used:,.4g}, {least} {bound:,.4g} were asked"
                f"{how}{worth}{does}."
            )
    tried, best = asked(numbers, "tried_revenue"), asked(numbers, "level_revenue")
    if tried is not None:
        low = asked(numbers, "tried_least_p")
        yield (
            f"The next experiment (tried_offer and its chance tried_p, at least {low:.2g}) is "
            f"expected to earn {tried:,.4g}, {percent(1 - tried / best, 1)} less than the best "
            "levels; a log of its answers can value any rule that chooses among these offers."
        )


def _limit_lines(numbers):
    names = limits_of(numbers)
    return [Line("delivered", capital(name), {"part": name}) for name in names]


def _asked_column(metric):
    def value(numbers, line):
        known = asked(numbers, metric, line.place["part"])
        return Estimate() if known is None else Estimate(known)

    return Column(metric, value=value, show="mean")


ASKED = Sheet(
    "Limits that offers keep together",
    _limit_lines,
    (_asked_column("limit_bound"), _asked_column("limit_used"), _asked_column("limit_price")),
    first="Limit",
    note="Expected, by the fitted model. The price is what one more unit would earn.",
    best=False,
)
