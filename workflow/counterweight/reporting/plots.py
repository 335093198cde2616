"""Figures for notebooks: each takes arrays, frames or a saved model and gives matplotlib's Axes.

They are made of the forms of the report's figures. Paper is white, so that they read the same on a
dark page. `ax` draws into Axes of one's own.
"""

from __future__ import annotations

from textwrap import fill
from types import SimpleNamespace

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from counterweight.errors import CounterweightError, listed
from counterweight.evaluation.metrics import probabilities
from counterweight.numerics.checks import as_marks, as_numbers, checked_weights
from counterweight.numerics.estimate import ratio_mean
from counterweight.numerics.ranking import bin_rows
from counterweight.reporting.charts import forms
from counterweight.reporting.charts.selection_figures import LINES
from counterweight.reporting.wording import told_apart
from counterweight.tables.parquet import setting_options

#: Standardised differences within it are taken for balance.
BALANCED = 0.1
_CLEAR = ("axes.facecolor", "figure.facecolor", "savefig.facecolor")
_DOT = {"markersize": 5.5}
#: Letters of a line of a row's name, which leave room for what is drawn; a name has two lines.
_LONGEST = 36


class _Drawn:
    """A panel of the report on Axes of a notebook, in the look of the report, with its legend."""

    def __init__(self, ax, title, x, y="", rows=(), grid="y"):
        self.look = matplotlib.rc_context(forms._SETTINGS | dict.fromkeys(_CLEAR, forms.PAPER))
        self.ax, self.title, self.x, self.y, self.rows, self.grid = ax, title, x, y, rows, grid

    def __enter__(self):
        from matplotlib import pyplot

        self.look.__enter__()
        if self.ax is None:
            row = 0.4 if any(len(str(one)) > _LONGEST for one in self.rows) else 0.3
            size = (6.4, 1.1 + row * len(self.rows) if len(self.rows) else 3.4)
            _, self.ax = pyplot.subplots(figsize=size, layout="constrained")
        self.canvas = SimpleNamespace(points=[], keys={}, told=None)
        self.panel = forms.Panel(self.canvas, self.ax, self.title, self.x, True)
        self.ax.set(title=self.title, xlabel=self.x, ylabel=self.y)
        self.ax.grid(axis="x" if len(self.rows) else self.grid, color=forms.PALE, linewidth=0.5)
        self.ax.set_axisbelow(True)
        if len(self.rows):
            self.panel.items = [str(row) for row in self.rows]
            names = told_apart(self.panel.items, 2 * _LONGEST, end=14)
            names = [fill(name, _LONGEST, break_long_words=False) for name in names]
            self.ax.set_yticks(range(len(self.rows)), names)
            self.ax.set_ylim(len(self.rows) - 0.4, -0.6)
            self.ax.tick_params(axis="y", length=0)
        return self.panel

    def __exit__(self, *error):
        if self.canvas.keys and error[0] is None:
            self.ax.legend(self.canvas.keys.values(), self.canvas.keys.keys(), loc="best")
        return self.look.__exit__(*error)


def _given(given, needed, what, source):
    """What is drawn, where it has what is `needed` of it; `source` says where that comes from.

    A frame has columns; of anything else the attributes are asked.
    """
    if isinstance(given, pd.DataFrame):
        if missing := [name for name in needed if name not in given.columns]:
            raise CounterweightError(
                f"{what} is drawn of {source}: this frame has no {listed(missing)}."
            )
    elif not all(hasattr(given, name) for name in needed):
        raise CounterweightError(f"{what} is drawn of {source}, not of {type(given).__name__}.")
    return given


def love_plot(balance: object, *, most: int = 15, ax: Axes | None = None) -> Axes:
    """Absolute standardised differences of each column, before and after weighting.

    Parameters
    ----------
    balance : Adjusted or pandas.DataFrame
        What `Sample.adjust` gives, or its ``balance()``: ``column``, ``level``, ``before``,
        ``after``.
    most : int
        Rows that are drawn, those that were farthest off.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> from counterweight.plots import love_plot
    >>> balance = pd.DataFrame({"column": ["age"], "level": "", "before": -0.4, "after": 0.02})
    >>> love_plot(balance).get_xlabel()
    'Absolute standardised difference'
    """
    source = "what `Sample.adjust` gives, or its balance()"
    table = balance
    if not isinstance(balance, pd.DataFrame):
        table = _given(balance, ["balance"], "A love plot", source).balance()
    _given(table, ("column", "level", "before", "after"), "A love plot", source)
    sizes = table[["before", "after"]].abs()
    order = sizes["before"].sort_values(ascending=False, kind="stable").index[:most]
    table, sizes = table.loc[order], sizes.loc[order]
    names = [
        f"{c} = {v}" if v != "" else c for c, v in zip(table["column"], table["level"], strict=True)
    ]
    title = f"{int((sizes['after'] <= BALANCED).sum())} of {len(sizes)} within {BALANCED}"
    with _Drawn(ax, title, "Absolute standardised difference", rows=names) as panel:
        panel.upright(BALANCED, forms.Look(forms.GREY, "", forms.DASHED))
        for row, (before, after) in enumerate(sizes.to_numpy()):
            panel.link(row, [before, after])
            panel.dot(row, "before", before, forms.BOUND, key=True, **_DOT)
            panel.dot(row, "after", after, forms.MAIN, key=True, **_DOT)
        panel.ax.set_xlim(left=0)
    return panel.ax


def overlap(
    chance: ArrayLike, labeled: ArrayLike, *, bins: int = 20, ax: Axes | None = None
) -> Axes:
    """How the chances of having a label are spread among rows with a label and without.

    Where bars of the second kind stand alone no weight can help.

    Parameters
    ----------
    chance : array (n,)
        p(labeled given x), as of `selection_probabilities`.
    labeled : array (n,) of bool, or of 0/1
    bins : int
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> from counterweight.plots import overlap
    >>> ax = overlap([0.1, 0.6, 0.7, 0.2], [False, True, True, False], bins=10)
    >>> [round(bar.get_height()) for bar in ax.patches if bar.get_height() > 0]
    [50, 50]
    """
    chance, labeled = as_numbers(chance, "chances"), as_marks(labeled, "marks of labeled rows")
    if chance.shape != labeled.shape:
        raise CounterweightError(
            f"There are {len(chance)} chances and {len(labeled)} rows that have a label or none: "
            "give one each."
        )
    if wrong := int((~((chance >= 0) & (chance <= 1))).sum()):
        raise CounterweightError(
            f"{wrong} of {len(chance)} chances of a label are missing, or not from 0 to 1: such "
            "rows stand in no bar. Give chances, as selection_probabilities makes them."
        )
    edges = np.linspace(0, 1, bins + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    with _Drawn(ax, "Overlap", "Chance of a label", "% of rows: labeled up, others down") as panel:
        for name, rows, sign, colour in (
            ("labeled", labeled, 1, forms.BLUE),
            ("without a label", ~labeled, -1, forms.ORANGE),
        ):
            heights = sign * 100 * np.histogram(chance[rows], edges)[0] / max(rows.sum(), 1)
            panel.bars(name, middles, heights, colour, 0.9 / bins)
        panel.ax.axhline(0, color=forms.GREY, linewidth=0.6)
        panel.ax.set_xlim(0, 1)
    return panel.ax


def weights(values: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Share of the whole weight that the heaviest rows carry, and how many rows that leaves.

    Parameters
    ----------
    values : array (n,)
        Weights from 0 up.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> from counterweight.plots import weights
    >>> weights([1, 1, 1, 5]).get_title(loc="left")
    'Worth 2.29 of 4 rows; the largest is 2.5 times the mean'
    """
    values = as_numbers(values, "weights")
    values = np.sort(checked_weights(values, values.size))[::-1]
    share = np.append(0, np.cumsum(values)) / values.sum()
    effective = values.sum() ** 2 / (values @ values)
    most = values[0] / values.mean()
    title = f"Worth {effective:.3g} of {len(values)} rows; the largest is {most:.3g} times the mean"
    with _Drawn(ax, title, "% of rows, the heaviest first", "% of the weight") as panel:
        at = 100 * np.linspace(0, 1, len(share))
        look = {"bars": False, "marker": ""}
        panel.line("these weights", zip(at, 100 * share, strict=True), forms.MAIN, **look)
        panel.line(
            "all alike", [(0, 0), (100, 100)], forms.BOUND._replace(dash=forms.DASHED), **look
        )
        panel.ax.set(xlim=(0, 100), ylim=(0, 100))
    return panel.ax


def calibration(
    y: ArrayLike,
    p: ArrayLike,
    weight: ArrayLike | None = None,
    *,
    bins: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Observed shares by predicted chance, with 95 % intervals; on the diagonal they agree.

    Parameters
    ----------
    y : array (n,) of 0/1
    p : array (n,)
    weight : array (n,), optional
    bins : int
        Of equal weight; equal predictions share a bin.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> from counterweight.plots import calibration
    >>> ax = calibration([0, 1, 0, 1], [0.2, 0.2, 0.6, 0.6], bins=2)
    >>> ax.lines[1].get_ydata().tolist()
    [50.0, 50.0]
    """
    hit, p = probabilities(y, p)
    ones = np.ones(len(p)) if weight is None else checked_weights(weight, len(p))
    place, total = bin_rows(p, ones, bins)
    points = []
    for k in np.flatnonzero(total):
        rows = place == k
        known = ratio_mean(hit[rows].astype(float), ones[rows], bounds=(0, 1), scale="plain")
        at = float(np.average(p[rows], weights=ones[rows]))
        points.append(tuple(100 * one for one in (at, known.value, known.low, known.high)))
    with _Drawn(ax, "Calibration", "Predicted chance, %", "Observed share, %") as panel:
        panel.line(
            "as predicted",
            [(0, 0), (100, 100)],
            forms.BOUND._replace(dash=forms.DASHED),
            bars=False,
            marker="",
        )
        panel.line("these rows, 95 % interval", points, forms.MAIN)
        panel.ax.set(xlim=(0, 100), ylim=(0, 100))
    return panel.ax


def gamma_curve(answers: object, *, measure: str = "swept_rate", ax: Axes | None = None) -> Axes:
    """How wrong an answer could be: its least and largest value by Γ.

    Γ is by how much, at equal features, the odds of having no label may differ between outcomes.

    Parameters
    ----------
    answers : Answers or pandas.DataFrame
        What `missing_outcomes` gives, or its ``metrics``.
    measure : str
        ``swept_rate``, or of a number ``swept_mean``; ``swept_accuracy``, ``swept_brier``.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> from counterweight.plots import gamma_curve
    >>> rows = [("gamma=1.0", "least", 0.3), ("gamma=1.0", "most", 0.3),
    ...         ("gamma=2.0", "least", 0.2), ("gamma=2.0", "most", 0.4)]
    >>> metrics = pd.DataFrame(rows, columns=["setting", "variable", "value"])
    >>> ax = gamma_curve(metrics.assign(metric="swept_rate", source="delivered", target="general"))
    >>> ax.lines[0].get_ydata().tolist()
    [30.0, 20.0]
    """
    what, source = "A curve by Γ", "what missing_outcomes gives, or its metrics"
    table = answers
    if not isinstance(answers, pd.DataFrame):
        table = _given(answers, ["metrics"], what, source).metrics
    _given(table, ("metric", "source", "target", "setting", "variable", "value"), what, source)
    table = table[(table["metric"] == measure) & (table["source"] == "delivered")]
    if table.empty:
        raise CounterweightError(f"Nothing was swept of {measure!r}: choose another measure.")
    first = "unlabeled" if "unlabeled" in set(table["target"]) else table["target"].iloc[0]
    table = table[table["target"] == first]
    percent = 1 if measure in ("swept_mean",) else 100
    at = table["setting"].map(lambda setting: float(setting_options(setting)["gamma"]))
    ends = {
        end: sorted(zip(at[rows], percent * table["value"][rows], strict=True))
        for end in ("least", "most", "fewer", "more")
        if (rows := (table["variable"] == end).to_numpy()).any()
    }
    name = measure.removeprefix("swept_").capitalize() + (", %" if percent == 100 else "")
    with _Drawn(ax, "Where labels are not missing at random", "Γ", name) as panel:
        one = forms.Look(forms.BLUE, "")
        panel.line("worst end for each row", ends["least"], one, bars=False)
        panel.line("worst end for each row", ends["most"], one, bars=False, key=False)
        panel.band(*np.transpose(ends["least"]), np.transpose(ends["most"])[1])
        for end in [end for end in ("fewer", "more") if end in ends]:
            dashed = one._replace(dash=forms.DASHED)
            panel.line("one factor for all rows", ends[end], dashed, bars=False)
        places = sorted({*at})
        panel.ticks([place for place in places if place in (1, 1.5, 2, 3, 5, 10)])
        panel.ax.set_xlim(places[0], places[-1])
    return panel.ax


def policy_values(values: pd.DataFrame, estimator: str = "", *, ax: Axes | None = None) -> Axes:
    """What each policy is worth, with its interval; the policy that made the log is the line.

    Parameters
    ----------
    values : pandas.DataFrame
        ``values.csv``, or `SavedValues.values`: ``policy``, ``estimator``, ``value``, ``low``,
        ``high``.
    estimator : str, optional
        By default the one that stands first for each policy, which answers go by.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> from counterweight.plots import policy_values
    >>> values = pd.DataFrame({"policy": ["the log's own", "new"], "estimator": ["mean", "ips"],
    ...                        "value": [0.1, 0.2], "low": [0.09, 0.15], "high": [0.11, 0.25]})
    >>> [label.get_text() for label in policy_values(values).get_yticklabels()]
    ["the log's own", 'new']
    """
    needed = ("policy", "estimator", "value", "low", "high")
    source = "values.csv, or the values of a SavedValues"
    table = _given(values, needed, "A figure of policies", source)
    own = table["estimator"] == "mean"
    if estimator:
        table = table[own | (table["estimator"] == estimator)]
    table = table.drop_duplicates("policy")
    if (table["estimator"] == "mean").all():
        raise CounterweightError(f"No policy has a value by {estimator or 'any estimator'!r}.")
    with _Drawn(ax, "Values of policies", "Reward of a row", rows=table["policy"]) as panel:
        lines = zip(
            table["estimator"], *(table[end] for end in ("value", "low", "high")), strict=True
        )
        for row, (made, value, low, high) in enumerate(lines):
            look = forms.BASELINE if made == "mean" else forms.MAIN
            if made == "mean":
                panel.upright(value, forms.Look(forms.GREY, "", forms.DASHED))
            panel.dot(row, made, (value, 0, low, high), look, key=True, **_DOT)
        panel.ax.margins(x=0.08)
    return panel.ax


def price_revenue(
    saved: object, frame: pd.DataFrame, offers: ArrayLike | None = None, *, ax: Axes | None = None
) -> Axes:
    """Expected revenue a person of one offer to everybody, by that offer.

    Parameters
    ----------
    saved : SavedOffers
    frame : pandas.DataFrame
        The people.
    offers : array (m,), optional
        Offers to draw, in the users' unit; by default those of the grid, the only ones that can
        be made, or, where there is none, 41 over the range of the fit.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> from types import SimpleNamespace
    >>> from counterweight.plots import price_revenue
    >>> scale = SimpleNamespace(low=0.0, high=10.0, revenue=lambda offer: offer)
    >>> saved = SimpleNamespace(scale=scale, acceptance=lambda frame, offers: (10 - offers) / 10)
    >>> ax = price_revenue(saved, pd.DataFrame({"age": [30]}), [2.0, 5.0, 8.0])
    >>> [round(float(value), 6) for value in ax.lines[0].get_ydata()]
    [1.6, 2.5, 1.6]
    """
    _given(saved, ("scale", "acceptance"), "Revenue by price", "a SavedOffers")
    scale = saved.scale
    if offers is None:
        offers = getattr(saved, "facts", {}).get("offer", {}).get("grid")
    offers = (
        np.linspace(scale.low, scale.high, 41)
        if offers is None
        else np.sort(np.asarray(offers, float))
    )
    chance = [float(np.mean(saved.acceptance(frame, np.full(len(frame), one)))) for one in offers]
    earned = np.array(chance) * [float(scale.revenue(one)) for one in offers]
    best = int(earned.argmax())
    title = f"One offer to all: most at {offers[best]:.4g}, accepted by {100 * chance[best]:.3g} %"
    with _Drawn(ax, title, "Offer to everybody", "Expected revenue a person") as panel:
        panel.line("revenue", zip(offers, earned, strict=True), forms.MAIN, bars=False, key=False)
        panel.upright(offers[best], forms.Look(forms.GREY, "", forms.DASHED))
    return panel.ax


def accepted_shares(saved: object, *, ax: Axes | None = None) -> Axes:
    """Shares of groups among all, among those whom a filter accepts, and what it aims at.

    Of the rows that did not fit it, as its page and card; of those of the fit, on which they are
    further apart than among new people, only where it tells no others, and the axis says so. Lines
    are 95 % intervals, of held-out rows.

    Parameters
    ----------
    saved : SavedFilter
        With ``groups``, ``base``, ``target``, ``mass``, ``acceptance``, ``shares`` and ``held``.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from counterweight.plots import accepted_shares
    >>> saved = SimpleNamespace(groups=["a", "b"], base=np.array([0.8, 0.2]),
    ...                         target=np.array([0.5, 0.5]), mass=np.array([0.5, 0.5]),
    ...                         acceptance=np.array([0.0, 1.0]),
    ...                         shares=np.array([[1.0, 0.0], [0.6, 0.4]]))
    >>> ax = accepted_shares(saved)
    >>> sorted(round(float(line.get_xdata()[0])) for line in ax.lines if line.get_marker() == "o")
    [20, 40, 60, 80]
    """
    needed = ("groups", "base", "target", "mass", "acceptance", "shares")
    _given(saved, needed, "A figure of groups", "a SavedFilter")
    taken = saved.mass * saved.acceptance
    if not taken.sum() > 0:
        raise CounterweightError("The filter accepts nobody, so that no share can be drawn.")
    rate, whose, shares = taken.sum(), "rows of the fit", [saved.base, taken @ saved.shares]
    shares[1] = shares[1] / rate
    dots = [[100 * one for one in those] for those in shares]
    if held := getattr(saved, "held", {}):
        # Of groups that may not be told there are none.
        told = [
            [
                [100 * held.get((name, end, k), np.nan) for end in ("value", "low", "high")]
                for k in range(len(saved.groups))
            ]
            for name in ("share_before", "share_after")
        ]
        if np.isfinite(told).any():
            rate, whose = held["acceptance_rate", "value", -1], "held-out rows"
            dots = [[(mean, 0, low, high) for mean, low, high in those] for those in told]
    title = f"{100 * rate:.3g} % of {whose} are accepted"
    with _Drawn(ax, title, f"% of the {whose}", rows=saved.groups) as panel:
        for row, (base, made, aim) in enumerate(zip(*dots, saved.target, strict=True)):
            panel.dot(row - 0.14, "among all", base, forms.BOUND, key=True, **_DOT)
            panel.dot(row + 0.14, "among the accepted", made, forms.MAIN, key=True, **_DOT)
            panel.dot(
                row, "aim", 100 * aim, forms.Look(forms.INK, "|", "none"), key=True, markersize=11
            )
        panel.ax.margins(x=0.08)
    return panel.ax


def leaf_shifts(saved: object, alpha: float | None = None, *, ax: Axes | None = None) -> Axes:
    """How far each leaf's shares of the groups are from those of all, against the limit.

    Dots are of the rows of the fit; the title has the largest on rows that did not fit it, too.

    Parameters
    ----------
    saved : SavedFilter
        With ``groups``, ``shifts``, ``mass`` and ``held``.
    alpha : float, optional
        The limit that was asked for, drawn on both sides.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace
    >>> from counterweight.plots import leaf_shifts
    >>> saved = SimpleNamespace(groups=["a", "b"], mass=np.array([1.0]),
    ...                         shifts=np.array([[0.05, -0.05]]))
    >>> leaf_shifts(saved, 0.1).get_title(loc="left")
    'At most 0.05 on rows of the fit, with a limit of 0.1'
    """
    _given(saved, ("groups", "shifts", "mass"), "A figure of leaves", "a SavedFilter")
    shifts = saved.shifts[saved.mass > 0]
    title = f"At most {np.nanmax(np.abs(shifts)):.3g} on rows of the fit"
    found = getattr(saved, "held", {}).get(("disclosivity", "value", -1))
    title += f", {found:.3g} on held-out rows" if found is not None else ""
    title += f", with a limit of {alpha:g}" if alpha else ""
    label = "Share in a leaf less share among all, rows of the fit (0.1 is 10 points)"
    with _Drawn(ax, title, label, rows=saved.groups) as panel:
        for row, own in enumerate(shifts.T):
            for value in own:
                panel.dot(row, "a leaf", float(value), forms.OTHER, key=True, **_DOT)
        for end in (-alpha, alpha) if alpha else ():
            panel.upright(end, forms.Look(forms.RED, "", forms.DASHED), "limit" if end > 0 else "")
        panel.ax.margins(x=0.08)
    return panel.ax


def promised_rates(saved: object, *, ax: Axes | None = None) -> Axes:
    """How far each promise is kept: its left side less its right side, kept up to 0.

    Parameters
    ----------
    saved : SavedClassifier
        Or anything whose ``promises`` are dicts of ``promise``, ``excess``, ``excess_decided``.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from counterweight.plots import promised_rates
    >>> told = {"promise": "recall >= 0.8", "excess": -0.02, "excess_decided": 0.01}
    >>> promised_rates(SimpleNamespace(promises=[told])).get_title(loc="left")
    '0 of 1 promises kept by decisions'
    """
    told = _given(saved, ["promises"], "A figure of promises", "a SavedClassifier").promises
    if not told:
        raise CounterweightError("The classifier has no promises: there is nothing to draw.")
    kept = sum(one["excess_decided"] <= 1e-6 for one in told)
    names = [one["promise"] for one in told]
    title = f"{kept} of {len(told)} promises kept by decisions"
    label = "Beyond the bound, on the rows of the fit (0.01 is a point)"
    with _Drawn(ax, title, label, rows=names) as panel:
        panel.upright(0.0, forms.Look(forms.RED, "", forms.DASHED), "the bound")
        for row, one in enumerate(told):
            panel.dot(row, "by chances", one["excess"], forms.BOUND, key=True, **_DOT)
            panel.dot(row, "by decisions", one["excess_decided"], forms.MAIN, key=True, **_DOT)
        panel.ax.margins(x=0.1)
    return panel.ax


def label_budget(plan: object, *, ax: Axes | None = None) -> Axes:
    """What interval labels are expected to give, by how many are bought.

    Parameters
    ----------
    plan : LabelPlan or pandas.DataFrame
        What ``collect`` of a saved model gives, or its ``expected()``: ``budget``, ``plan``,
        ``plain``, ``wrong``, and ``low`` and ``high`` where there are some.
    ax : matplotlib.axes.Axes, optional

    Examples
    --------
    >>> import pandas as pd
    >>> from counterweight.plots import label_budget
    >>> expected = pd.DataFrame({"budget": [50, 200], "plan": [0.1, 0.05], "plain": [0.14, 0.07],
    ...                          "wrong": [0.15, 0.075]})
    >>> label_budget(expected).lines[0].get_xdata().tolist()
    [50.0, 200.0]
    """
    what, source = "A figure of budgets", "a plan that collect() of a saved model gives"
    table = plan
    if not isinstance(plan, pd.DataFrame):
        table = _given(plan, ("expected", "with_labels"), what, source).expected()
    _given(table, ("budget", *LINES), what, source)
    with _Drawn(ax, "The interval to expect", "Labels", "Half-width of the 95 % interval") as panel:
        for column, (name, look) in LINES.items():
            panel.line(name, zip(table["budget"], table[column], strict=True), look, bars=False)
        if {"low", "high"} <= {*table.columns}:
            panel.band(table["budget"], table["low"], table["high"])
        panel.ax.set_xlim(left=0)
        panel.ax.set_ylim(bottom=0)
    return panel.ax
