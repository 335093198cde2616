"""Limits that saved offers keep together.

They choose among a few offers: those of the grid, or points evenly over what was made. Nobody gets
one outside what was made to people like them.

Limits: each person i gets one of some offers g, or none; it is accepted with chance p_ig, earns
w_ig if accepted, and costs s_g either way. A limit k holds what is expected of those who accept,
sum_i p_ig r_ik c_kg <= b_k: of a capacity r = c = 1; of a budget c is what is given away; of a
least mean quality q_0 r = q_0 - q and b = 0; of a least share of a group the same, q being 0 or 1.

With a multiplier l_k for each limit people part: everybody gets the offer of largest
p (w - sum_k l_k r_k c_k) - s, which is the best offer at another revenue. The dual, least over
l >= 0 of l'b + sum_i max_g, equals the linear programme over mixed assignments; it is convex and
piecewise linear in a few numbers, and is solved by cutting planes, each one pass over the people.
"""

import logging
import numbers
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.special import ndtr

from counterweight.errors import CounterweightError
from counterweight.tables.formats import booleans

log = logging.getLogger("counterweight")

#: Relative gap of the dual at which cutting planes stop, and passes at most.
GAP, PASSES = 1e-7, 200
#: Rounds in which people by whom one of several limits is exceeded are left out.
REPAIRS = 50
#: Rounds in which a capacity with a confidence is found.
ROUNDS = 8
#: Change of that capacity, as a share, at which they end.
SETTLED = 0.002
#: Numbers (people x offers) handled at a time.
BLOCK = 1 << 22


class Limit(NamedTuple):
    """A limit on those who are expected to accept: sum p rows offers <= bound."""

    name: str
    rows: np.ndarray
    offers: np.ndarray
    bound: float


class Allotment(NamedTuple):
    """Who gets which offer: ``choice`` (n,) are places among the offers, -1 for none.

    ``value`` is what the choice is expected to earn, ``dual`` what no assignment can exceed;
    ``used`` and ``multipliers`` tell by limit what is expected to be used, and what one more unit
    would earn. ``greedy`` is what the rule of the best people first earns: each at the offer that
    is best alone, in the order of what is expected of them, until a limit is reached; NaN for
    limits other than a capacity and a budget. ``free`` is what would be earned without limits.
    ``low`` and ``high`` are the interval of the value, by draws; NaN where there are none.
    """

    choice: np.ndarray
    value: float
    dual: float
    used: dict
    multipliers: dict
    greedy: float
    free: float
    low: float = float("nan")
    high: float = float("nan")


def allot(p, worth, limits, spent=0.0, skip=True, confidence=None, allowed=None, drawn=None):
    """`Allotment` of largest expected revenue under limits.

    `p` (n, m) are chances that person i accepts offer g, `worth` the revenue of an accepted one,
    `spent` what an offer costs whether or not it is accepted; `skip` says whether a person may get
    no offer, `allowed` (n, m) which ones. With a `confidence` the limit named capacity is kept with
    that chance, by the normal approximation of the number that accepts (answers of people are
    independent), else in expectation. ``drawn(choice)`` gives the mean and the variance of that
    number by each draw of the model's parameters, (D,) each: the chance is then over what the fit
    is not sure of, too. Refused where no assignment keeps the limits, or numbers are not finite.
    """
    programme = _Programme(np.asarray(p, dtype=float), worth, spent, limits, skip, allowed)
    bounds = np.array([limit.bound for limit in limits], dtype=float)
    found = programme.solved(bounds)
    at = None if confidence is None else [limit.name for limit in limits].index("capacity")
    if confidence is None:
        return found

    def likely(choice):
        """Means and variances of the number that accepts, by draw or by the fit alone."""
        if drawn is not None:
            return drawn(choice)
        chosen = programme.chances(choice)
        return np.array([chosen.sum()]), np.array([(chosen * (1 - chosen)).sum()])

    tight = bounds.copy()
    for _ in range(ROUNDS):
        means, spreads = likely(found.choice)
        factor = _largest_factor(means, spreads, bounds[at], confidence)
        bound = min(bounds[at], factor * max(found.used["capacity"], 1e-12))
        if factor >= 1 and (tight[at] == bounds[at] or bound <= tight[at] * (1 + SETTLED)):
            break
        tight[at] = bound
        found = programme.solved(tight)
        if not found.used["capacity"] > 0:
            raise CounterweightError(
                f"A capacity of {bounds[at]:g} cannot be kept with a confidence of {confidence:g}: "
                "ask for less of one of them."
            )
    return found


def _kept(factor, means, spreads, bound):
    """Chance that so many times what is expected stay within a bound, over draws of the model."""
    # Half a person: the number that accepts is whole.
    room = bound + 0.5 - factor * means
    return float(ndtr(room / np.sqrt(np.maximum(factor * spreads, 1e-12))).mean())


def _largest_factor(means, spreads, bound, confidence):
    """The largest factor at which the chance of `_kept` is the confidence, 0 where none is."""
    low, high = 0.0, 2.0 * (bound + 1.0) / max(means.mean(), 1e-12)
    for _ in range(60):
        middle = (low + high) / 2
        kept = _kept(middle, means, spreads, bound) >= confidence
        low, high = (middle, high) if kept else (low, middle)
    return low


class _Programme:
    """Chances and revenues of people (n, m), evaluated at multipliers of the limits."""

    def __init__(self, p, worth, spent, limits, skip, allowed=None):
        n, m = p.shape
        self.banned = None if allowed is None or allowed.all() else ~allowed
        self.p, self.limits, self.skip = p, limits, skip
        self.worth = np.broadcast_to(np.asarray(worth, dtype=float), (n, m))
        self.spent = np.broadcast_to(np.asarray(spent, dtype=float), (m,))
        self.rows, self.offers = np.empty((n, len(limits))), np.empty((len(limits), m))
        for at, one in enumerate(limits):
            self.rows[:, at], self.offers[at] = one.rows, one.offers
        parts = p, self.worth, self.spent, self.rows, self.offers
        if not all(np.isfinite(values).all() for values in parts):
            raise CounterweightError(
                "Chances, revenues and limits of offers must be finite: look for blanks."
            )

    def at(self, multipliers):
        """Sum of the best of everybody, uses (K,) and choices (n,) at some multipliers."""
        n, m = self.p.shape
        choice, total = np.empty(n, dtype=np.int32), 0.0
        step = max(BLOCK // m, 1)
        for start in range(0, n, step):
            some = slice(start, start + step)
            price = (self.rows[some] * multipliers) @ self.offers
            value = self.p[some] * (self.worth[some] - price) - self.spent
            if self.banned is not None:
                value[self.banned[some]] = -np.inf
            own = value.argmax(axis=1)
            best = value[np.arange(len(own)), own]
            if self.skip:
                own, best = np.where(best > 0, own, -1), np.maximum(best, 0.0)
            choice[some] = own
            total += float(best.sum())
        return total, self.use(choice).sum(axis=0), choice

    def chances(self, choice):
        """Chance (n,) that people accept what they get."""
        own = self.p[np.arange(len(choice)), np.maximum(choice, 0)]
        return np.where(choice >= 0, own, 0.0)

    def use(self, choice):
        """What each person is expected to use of each limit, (n, K)."""
        offers = self.offers[:, np.maximum(choice, 0)].T
        return self.chances(choice)[:, None] * self.rows * offers

    def earned(self, choice):
        """What each person is expected to earn, (n,)."""
        at = np.maximum(choice, 0)
        value = self.chances(choice) * self.worth[np.arange(len(choice)), at]
        return value - np.where(choice >= 0, self.spent[at], 0.0)

    def solved(self, bounds):
        """`Allotment` under limits with these bounds."""
        names, count = [limit.name for limit in self.limits], len(bounds)
        total, use, choice = self.at(np.zeros(count))
        greedy = float("nan")
        if not ((self.rows < 0).any() or (self.offers < 0).any()):
            own, uses = self.earned(choice), self.use(choice)
            order = np.argsort(-own, kind="stable")
            fits = (uses[order].cumsum(axis=0) <= bounds * (1 + 1e-12)).all(axis=1)
            greedy = float(own[order[: _first(~fits)]].sum())
        cuts, weights, least = [(total, bounds - use, choice)], np.ones(1), (total, np.zeros(count))
        if (use > bounds).any():
            least, weights = self._lowered(cuts, bounds, least)
        choice = self._rounded(cuts, weights, bounds, least[1])
        used, value = self.use(choice).sum(axis=0), float(self.earned(choice).sum())
        used, multipliers = (dict(zip(names, v.tolist(), strict=True)) for v in (used, least[1]))
        return Allotment(choice, value, least[0], used, multipliers, greedy, total)

    def _lowered(self, cuts, bounds, least):
        """Least dual value with its multipliers, and the weights of the cuts' assignments."""
        scale = np.abs(self.worth).max() + np.abs(self.spent).max()
        sizes = np.abs(self.rows).max(axis=0) * np.abs(self.offers).max(axis=1)
        most = 4.0 * scale / np.maximum(sizes, 1e-12)
        count, ceiling, before = len(bounds), 1e9 * most, -np.inf
        for _ in range(PASSES):
            starts, slopes = (np.array([cut[at] for cut in cuts]) for at in (0, 1))
            size = max(abs(least[0]), 1e-12)
            master = linprog(
                np.append(np.zeros(count), 1.0),
                A_ub=np.column_stack([slopes * most / size, -np.ones(len(cuts))]),
                b_ub=-starts / size,
                bounds=[(0, 1)] * count + [(None, None)],
                method="highs",
            )
            at, low = master.x[:count] * most, master.x[-1] * size
            total, use, choice = self.at(at)
            dual = total + float(at @ bounds)
            if dual < least[0]:
                least = (dual, at)
            edge = (at >= most * (1 - 1e-9)) & (use > bounds + 1e-9 * np.abs(bounds))
            if dual <= GAP * cuts[0][0] and (use <= bounds).all():
                # Nothing is left to earn, and on the scale of nothing there is no programme.
                cuts.append((total, bounds - use, choice))
                return (dual, at), np.eye(len(cuts))[-1]
            if edge.any() and (most < ceiling).all():
                most = np.where(edge, 8.0 * most, most)
            elif least[0] - low <= GAP * size or low <= before:
                break
            else:
                before = low
            cuts.append((total + float(at @ use), bounds - use, choice))
        if edge.any() and (use > bounds + 1e-6 * np.maximum(np.abs(bounds), 1)).any():
            wrong = [one.name for one, over in zip(self.limits, use > bounds, strict=True) if over]
            raise CounterweightError(
                f"No offers keep the limit {', '.join(wrong)}: loosen it, or let people get no "
                "offer."
            )
        return least, np.maximum(-master.ineqlin.marginals, 0.0)

    def _rounded(self, cuts, weights, bounds, multipliers):
        """One offer for everybody from the assignments that tie at the multipliers."""
        kept = np.flatnonzero(weights > 1e-12)
        choices = np.stack([cuts[at][2] for at in kept])
        if len(kept) == 1:
            return choices[0]
        if len(bounds) == 1:
            return self._filled(choices, bounds[0])
        differ = np.flatnonzero((choices != choices[0]).any(axis=0))
        order = differ[np.argsort(self.chances(choices[0])[differ], kind="stable")]
        share = weights[kept].cumsum() / weights[kept].sum()
        which = np.searchsorted(share, (np.arange(len(order)) + 0.5) / max(len(order), 1))
        made = choices[0].copy()
        made[order] = choices[np.minimum(which, len(kept) - 1), order]
        if not self.skip:
            return made
        return self._refilled(self._repaired(made, bounds, multipliers), choices, bounds)

    def _repaired(self, choice, bounds, multipliers):
        """The same without the few people by whom limits are exceeded.

        First those whose offer earns least beyond the price of what it uses.
        """
        room = 1e-9 * np.maximum(np.abs(bounds), 1e-9)
        for _ in range(REPAIRS):
            use = self.use(choice)
            over = use.sum(axis=0) - bounds
            if (over <= room).all():
                return choice
            at = int(np.argmax(over / np.maximum(np.abs(use).max(axis=0), 1e-300)))
            those = np.flatnonzero((choice >= 0) & (use[:, at] > 0))
            cost = (self.earned(choice) - use @ multipliers)[those] / use[those, at]
            order = those[np.argsort(cost, kind="stable")]
            number = int(np.searchsorted(use[order, at].cumsum(), over[at])) + 1
            choice = choice.copy()
            choice[order[:number]] = -1
        return choice

    def _refilled(self, choice, choices, bounds):
        """The same with what there is still room for, of offers in the assignments that tie.

        Where many people tie, leaving out those by whom one limit is exceeded leaves room in
        others. First come those who earn most for the share of the room that they take.
        """
        room = 1e-9 * np.maximum(np.abs(bounds), 1e-9)
        earned, uses = (np.array([of(one) for one in choices]) for of in (self.earned, self.use))
        rows = np.arange(len(choice))
        for _ in range(REPAIRS):
            own, use = self.earned(choice), self.use(choice)
            left = bounds + room - use.sum(axis=0)
            gains, more = earned - own, uses - use
            gains[(more > left).any(axis=2)] = 0.0
            taken = (np.maximum(more, 0.0) / np.maximum(left, 1e-300)).max(axis=2)
            rate = np.where(gains > 0, gains / np.maximum(taken, 1e-12), 0.0)
            best = rate.argmax(axis=0)
            order = np.argsort(-rate[best, rows], kind="stable")
            order = order[rate[best, rows][order] > 0]
            if not len(order):
                break
            fits = (more[best, rows][order].cumsum(axis=0) <= left).all(axis=1)
            order = order[: max(_first(~fits), 1)]
            choice = choice.copy()
            choice[order] = choices[best[order], order]
        return choice

    def _filled(self, choices, bound):
        """From the assignment that uses least, people move up until the limit is reached."""
        uses = [self.use(choice)[:, 0] for choice in choices]
        totals = [float(use.sum()) for use in uses]
        low, high = int(np.argmin(totals)), int(np.argmax(totals))
        more = uses[high] - uses[low]
        movers = np.flatnonzero(more > 0)
        order = movers[np.argsort(-more[movers], kind="stable")]
        made, left = choices[low].copy(), bound - totals[low]
        while len(order):
            number = _first(more[order].cumsum() > left * (1 + 1e-12))
            made[order[:number]] = choices[high][order[:number]]
            left -= float(more[order[:number]].sum())
            # Who does not fit is passed over for those who use less.
            order = order[number:]
            order = order[more[order] <= left]
        return made


def _first(marks):
    """Place of the first mark (n,); n where there is none."""
    return int(marks.argmax()) if marks.any() else len(marks)


#: By how much ends may differ, in widths of the range of offers.
MARGIN = 1e-6
#: Limits of a mean among those who accept.
MEAN_LIMITS = ("quality", "share")


def levels_of(saved, points, between=False):
    """The offers to choose from, in the user's units, rising.

    With `between` also points between few that were made, where these alone are the grid.
    """
    offer, made = saved.facts["offer"], saved.arrays["made"]
    grid = offer["grid"]
    if grid is not None and not (between and offer.get("only_made")):
        return np.unique(np.asarray(grid, dtype=float))
    return np.unique(saved.scale.rounded(np.linspace(made.min(), made.max(), int(points))))


def choices(saved, X, offers):
    """Chance (n, m) that people accept each offer, and whether it was made to such people."""
    ends = np.sort(saved.arrays["made"], axis=1)
    room = MARGIN * saved.scale.width
    fits = (offers >= ends[:, :1] - room) & (offers <= ends[:, 1:] + room)
    # Whom no point fits gets the nearest one.
    away = np.maximum(ends[:, :1] - offers, offers - ends[:, 1:])
    fits[np.arange(len(ends)), away.argmin(axis=1)] |= ~fits.any(axis=1)
    t = np.clip(saved.scale.scaled(offers), 0.0, 1.0)

    def of(at):
        about = saved._pricer.about(X[at])
        p = saved._pricer.accept_each(about, t)
        return {"p": p, "kind": saved.kinds_of(about, X[at])[0]}

    found = saved._by_parts(of, len(X))
    return found["p"], fits[found["kind"]]


class Asked(NamedTuple):
    """Chances, revenues and limits of the offers that some people may get; see `allot`."""

    p: np.ndarray
    worth: np.ndarray
    limits: list
    spent: np.ndarray
    skip: bool
    allowed: np.ndarray
    offers: np.ndarray

    def programme(self):
        """`_Programme` of these people."""
        return _Programme(self.p, self.worth, self.spent, self.limits, self.skip, self.allowed)

    def again(self, found, rows, p):
        """Choices (m,) of some rows by other chances p (m, offers): together they use of each limit
        what is `found` to be used by them, and of one that changes nothing their part of the rest.
        """
        use, kept = self.programme().use(found.choice)[rows].sum(axis=0), []
        for one, own in zip(self.limits, use.tolist(), strict=True):
            if not found.multipliers[one.name]:
                own += len(rows) / len(self.p) * (one.bound - found.used[one.name])
            amounts = one.rows[rows] if np.ndim(one.rows) else one.rows
            kept.append(one._replace(rows=amounts, bound=own))
        some = {"worth": self.worth[rows], "allowed": self.allowed[rows], "limits": kept}
        bounds = np.array([one.bound for one in kept], dtype=float)
        return self._replace(p=p, **some).programme().solved(bounds).choice


def asked_of(
    saved,
    X,
    frame,
    *,
    capacity=None,
    budget=None,
    quality=None,
    share=None,
    revenue=None,
    spent=None,
    skip=True,
    points=21,
):
    """`Asked` of people with features `X`; `frame` is their table, for the columns that limits and
    revenue name. The other arguments are those of `SavedOffers.allot`."""
    offers, scale, limits = levels_of(saved, points), saved.scale, []
    if saved.single is not None:
        offers = np.array([saved.single])
    worth, cost = amounts_of(saved, frame, offers, revenue, spent)
    if capacity is not None:
        limits.append(Limit("capacity", 1.0, 1.0, float(capacity)))
    if budget is not None:
        given = offers - scale.low if scale.direction == "up" else scale.high - offers
        limits.append(Limit("budget", 1.0, given, float(budget)))
    if quality is not None:
        column, least = _parts(quality, "column", "least")
        if not np.isfinite(_number(least)):
            raise CounterweightError(f"quality.least is {least!r}: give a number.")
        short = float(least) - _numbers(frame, column)
        if len(short) and (short > 0).all():
            raise CounterweightError(
                f"quality asks for {float(least):g} of {column} on average among those who are "
                f"expected to accept, and nobody has more than {float(least) - short.min():g}: ask "
                "for less."
            )
        limits.append(Limit("quality", short, 1.0, 0.0))
    if share is not None:
        column, value, least = _parts(share, "column", "value", "least")
        if not 0 < _number(least) <= 1:
            raise CounterweightError(
                f"share.least is {least!r}, and it is a share of those who are expected to accept: "
                "give a number above 0 and at most 1, such as 0.4."
            )
        limits.append(Limit("share", float(least) - _marked(frame, column, value), 1.0, 0.0))
    if not limits and revenue is None and spent is None:
        raise CounterweightError(
            "There is no limit, nor a revenue or cost of its own: give one, or take optimal_offers."
        )
    p, fits = choices(saved, X, offers)
    return Asked(p, np.broadcast_to(worth, p.shape), limits, cost, skip, fits, offers)


def amounts_of(saved, frame, offers, revenue=None, spent=None):
    """What offers (m,), or one a person (n, 1), earn if accepted, and cost either way."""
    cost = np.zeros(offers.shape) if spent is None else _curve(spent, offers, "spent")
    if isinstance(revenue, str):
        return _numbers(frame, revenue)[:, None] + saved.scale.slope * offers, cost
    if revenue is None:
        return saved.scale.revenue(offers), cost
    return _curve(revenue, offers, "revenue"), cost


def allotted(saved, X, frame, confidence=None, **asked):
    """Columns ``offer`` (NaN for none), ``p``, ``revenue``, the `Allotment`, and what was `Asked`.

    See `SavedOffers.allot`, and `asked_of`.
    """
    _check_asked({name: asked.get(name) for name in ("capacity", "budget")}, confidence)
    told = asked_of(saved, X, frame, **asked)
    drawn = None
    if confidence is not None and saved.has_draws:

        def drawn(choice):
            return _by_draws(saved, X, choice, told.offers)

    elif confidence is not None:
        log.warning(
            "A confidence of %g is over the chance in answers alone: this method has no draws that "
            "tell how far its fit is off, so more may accept than that.",
            confidence,
        )
    p, worth, limits, spent, skip, fits, _ = told
    found = allot(p, worth, limits, spent, skip, confidence, fits, drawn)
    at, none, rows = np.maximum(found.choice, 0), found.choice < 0, np.arange(len(p))
    chance, paid = np.where(none, 0.0, p[rows, at]), worth[rows, at]
    earned = chance * paid - np.where(none, 0.0, spent[at])
    columns = {"offer": np.where(none, np.nan, told.offers[at]), "p": chance, "revenue": earned}
    cost = float(spent[at[~none]].sum())
    low, high = saved.total_ends(X, columns["offer"], paid, found.value, cost)
    return columns, found._replace(low=low, high=high), told


def _check_asked(amounts, confidence):
    """Refuse a capacity or a budget that leaves nobody, and a confidence that is none."""
    for name, amount in amounts.items():
        if amount is not None and not 0 < _number(amount) < np.inf:
            why = ", within which nobody can get an offer" * (not isinstance(amount, str))
            raise CounterweightError(
                f"The {name} is {amount!r}{why}: give a number above 0, or leave it out."
            )
    if confidence is None:
        return
    if amounts["capacity"] is None:
        raise CounterweightError("A confidence is of a capacity: give that, too.")
    if not 0 < _number(confidence) < 1:
        raise CounterweightError(
            f"The confidence is {confidence!r}, and it is a chance: give a number between 0 and 1, "
            "such as 0.95."
        )


def _number(told):
    """A number as it is, NaN for anything else."""
    return float(told) if isinstance(told, numbers.Real) else np.nan


def _by_draws(saved, X, choice, offers):
    """Mean and variance (D,) of the number that accepts what it gets, by draws of the model.

    Its rivals, where it has some, count together as much as its draws do; so do, of a model that
    is `shrunken`, draws that are off as far to the other side.
    """
    rows = np.flatnonzero(choice >= 0)
    t = np.clip(saved.scale.scaled(offers[choice[rows]]), 0.0, 1.0)
    own, draws = saved._pricer, saved.part("draw")
    means = spreads = np.zeros(1)
    for at in saved.parts_of(len(rows)):
        about = own.about(X[rows[at]])
        p = own.accept_drawn(about, t[at], draws)
        if own.shrunken:
            p = np.vstack([p, np.clip(2 * own.accept(about, t[at]) - p, 0.0, 1.0)])
        if others := [one.accept(one.about(X[rows[at]]), t[at]) for one in saved._rivals]:
            p = np.vstack([p, np.repeat(others, -(-len(p) // len(others)), axis=0)])
        means, spreads = means + p.sum(axis=1), spreads + (p * (1 - p)).sum(axis=1)
    return means, spreads


def columns_asked(limits):
    """Columns of the table that limits name."""
    limits = limits or {}
    named = [_parts(limits[name], "column")[0] for name in MEAN_LIMITS if limits.get(name)]
    revenue = limits.get("revenue")
    return list(dict.fromkeys(named + [revenue] * isinstance(revenue, str)))


def _parts(told, *names):
    return [told[name] for name in names] if isinstance(told, dict) else list(told)


def _curve(told, offers, what):
    """A function of offers: a number, a function, or points [offer, amount] with lines between."""
    if callable(told):
        return np.broadcast_to(np.asarray(told(offers), dtype=float), offers.shape)
    if np.ndim(told) == 0:
        return np.full(offers.shape, float(told))
    points = np.asarray(told, dtype=float)
    points = points[np.argsort(points[:, 0], kind="stable")]
    room, least, most = 1e-9 * max(np.ptp(offers), 1e-300), offers.min(), offers.max()
    if points[0, 0] > least + room or points[-1, 0] < most - room:
        raise CounterweightError(
            f"The points of {what} reach from {points[0, 0]:g} to {points[-1, 0]:g}, but offers "
            f"from {least:g} to {most:g}: give points over all of them."
        )
    return np.interp(offers, points[:, 0], points[:, 1])


def _column(frame, name):
    if name not in frame:
        raise CounterweightError(f"The table of people has no column {name!r}.")
    return frame[name]


def _numbers(frame, name):
    """Finite numbers of a column; words for yes and no are 1 and 0."""
    import pyarrow as pa

    values = _column(frame, name)
    try:
        values = values.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        words = pa.array(values.astype(object).map(str).str.strip(), pa.string())
        values, right = booleans(words, {})
        values = values.astype(float)
        if not right.all():
            raise CounterweightError(
                f"The column {name!r}, which limits or revenue name, holds text: name one of "
                "numbers."
            ) from None
    blank = np.flatnonzero(~np.isfinite(values))
    if len(blank):
        raise CounterweightError(
            f"The column {name!r}, which limits or revenue name, is blank or infinite for "
            f"{len(blank)} people (first: row {blank[0]}): fill it in."
        )
    return values


def _marked(frame, name, value):
    """1.0 where a column has a value, as it is or in print."""
    own = _column(frame, name)
    hit = (own == value).fillna(False).to_numpy(dtype=bool)
    if not hit.any():
        hit = (own.astype(str) == str(value)).to_numpy(dtype=bool)
    if not hit.any():
        raise CounterweightError(
            f"Nobody has the value {value!r} in the column {name!r}, of which limits ask a least "
            "share: correct one of them."
        )
    return hit.astype(float)
