"""Figures for notebooks: what is drawn is where the data are, and says what it is."""

import doctest

import matplotlib

matplotlib.use("agg")

import counterweight
import numpy as np
import pandas as pd
import pytest
from counterweight import CounterweightError, plots
from counterweight.selection import Sample
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.text import Text


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def dots(ax, marker):
    """Places of the single marks of a kind, from the top down."""
    lines = [
        line for line in ax.lines if line.get_marker() == marker and len(line.get_xdata()) == 1
    ]
    return [(float(line.get_ydata()[0]), float(line.get_xdata()[0])) for line in lines]


def rows(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def adjusted():
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"age": rng.normal(40, 9, 400), "sex": rng.choice(["m", "f"], 400)})
    target = pd.DataFrame({"age": rng.normal(46, 9, 400), "sex": rng.choice(["m", "f"], 400)})
    return Sample(people).adjust(Sample(target))


def test_long_names_leave_room_for_what_is_drawn():
    asked = "How satisfied were you with the service of our branch in"
    names = [f"{asked} {place}" for place in ("Nord-Ost", "Übersee")]
    made = pd.DataFrame({"column": names, "level": "", "before": [0.4, 0.3], "after": 0.01})
    short = rows(plots.love_plot(made))
    lines = [line for name in short for line in name.split("\n")]
    assert max(map(len, lines)) <= 36 and short[0].endswith("Nord-Ost") and len({*short}) == 2


def test_a_love_plot_has_the_largest_differences_first_before_and_after():
    made = adjusted()
    ax = plots.love_plot(made)
    table = made.balance().assign(size=lambda t: t["before"].abs())
    table = table.sort_values("size", ascending=False, kind="stable")
    assert rows(ax)[0] == "age" and len(rows(ax)) == len(table) == 3
    drawn = dots(ax, "o")
    assert [x for _, x in drawn[::2]] == pytest.approx(table["before"].abs())
    assert [x for _, x in drawn[1::2]] == pytest.approx(table["after"].abs())
    assert [y for y, _ in drawn[::2]] == [0, 1, 2]
    assert legend(ax) == ["before", "after"]
    assert len(rows(plots.love_plot(made.balance(), most=1))) == 1


def test_overlap_has_both_parts_in_the_bins_of_their_chances():
    rng = np.random.default_rng(5)
    chance = rng.uniform(size=500)
    labeled = rng.uniform(size=500) < chance
    ax = plots.overlap(chance, labeled, bins=10)
    bars = list(ax.patches)
    assert len(bars) == 20
    edges = np.linspace(0, 1, 11)
    for part, sign, own in ((labeled, 1, bars[:10]), (~labeled, -1, bars[10:])):
        shares = 100 * np.histogram(chance[part], edges)[0] / part.sum()
        assert [bar.get_height() for bar in own] == pytest.approx(sign * shares)
        assert [bar.get_x() + bar.get_width() / 2 for bar in own] == pytest.approx(
            edges[:-1] + 0.05
        )
    assert legend(ax) == ["labeled", "without a label"]


@pytest.mark.parametrize(
    ("chance", "labeled", "told"),
    [
        ([0.2, 0.7], ["no", "yes"], "marks of labeled rows must be numbers, not text"),
        ([0.2, 0.7], [np.nan, 1], "1 of 2 are neither, the first is nan"),
        ([0.2, np.nan], [False, True], "1 of 2 chances of a label are missing"),
        ([0.2, 2.1], [False, True], "1 of 2 chances of a label are missing, or not from 0 to 1"),
    ],
)
def test_overlap_drops_no_row_and_takes_no_text_for_a_label(chance, labeled, told):
    with pytest.raises(CounterweightError, match=told):
        plots.overlap(chance, labeled)
    marks = pd.Series([False, True], dtype="boolean")
    assert len(plots.overlap([0.2, 0.7], marks, bins=5).patches) == 10


class OtherModel:
    """With what some figures ask of a model, and all of none."""

    acceptance = expected = None


@pytest.mark.parametrize("name", counterweight.NAMES["plots"])
def test_what_a_figure_is_not_of_is_refused_in_a_sentence(name):
    if name in ("overlap", "weights", "calibration"):  # of arrays
        return
    more = [pd.DataFrame({"age": [30]})] if name == "price_revenue" else []
    with pytest.raises(CounterweightError, match="is drawn of .*, not of OtherModel.$"):
        getattr(plots, name)(OtherModel(), *more)
    with pytest.raises(CounterweightError, match="is drawn of .*this frame has no [a-z]"):
        getattr(plots, name)(pd.DataFrame({"age": [30]}), *more)


def test_weights_are_summed_from_the_heaviest_on():
    ax = plots.weights([3, 1, 0])
    line = ax.lines[0]
    assert line.get_xdata() == pytest.approx([0, 100 / 3, 200 / 3, 100])
    assert line.get_ydata() == pytest.approx([0, 75, 100, 100])
    assert ax.get_title(loc="left") == "Worth 1.6 of 3 rows; the largest is 2.25 times the mean"


def test_calibration_has_the_shares_and_intervals_of_its_bins():
    rng = np.random.default_rng(7)
    p = np.repeat([0.1, 0.5, 0.8], 200)
    y = rng.uniform(size=600) < p
    weight = rng.uniform(0.5, 2, 600)
    line = plots.calibration(y, p, weight, bins=3).lines[1]
    assert line.get_xdata() == pytest.approx([10, 50, 80])
    shares = [100 * np.average(y[p == one], weights=weight[p == one]) for one in (0.1, 0.5, 0.8)]
    assert line.get_ydata() == pytest.approx(shares)
    (intervals,) = line.axes.patches
    ends = intervals.get_path().vertices.reshape(3, 2, 2)
    assert np.all(ends[:, 0, 1] < shares) and np.all(shares < ends[:, 1, 1])


def test_a_curve_by_gamma_begins_at_the_answer_and_opens():
    settings = [f"gamma={gamma}" for gamma in (3.0, 1.0, 2.0)]
    table = pd.DataFrame(
        [
            ("swept_rate", "delivered", target, setting, part, value + step)
            for target, step in (("general", 0.1), ("unlabeled", 0.0))
            for part, values in (("least", (0.2, 0.4, 0.3)), ("most", (0.6, 0.4, 0.5)))
            for setting, value in zip(settings, values, strict=True)
        ],
        columns=["metric", "source", "target", "setting", "variable", "value"],
    )
    low, high = plots.gamma_curve(table).lines
    assert low.get_xdata().tolist() == high.get_xdata().tolist() == [1, 2, 3]
    assert low.get_ydata() == pytest.approx([40, 30, 20])
    assert high.get_ydata() == pytest.approx([40, 50, 60])
    with pytest.raises(CounterweightError, match="Nothing was swept of 'swept_auc'"):
        plots.gamma_curve(table, measure="swept_auc")


VALUES = pd.DataFrame(
    {
        "policy": ["the log's own", "new", "new", "old"],
        "estimator": ["mean", "snips", "ips", "snips"],
        "value": [0.5, 0.7, 0.72, 0.4],
        "low": [0.48, 0.6, 0.61, 0.3],
        "high": [0.52, 0.8, 0.83, 0.5],
    }
)


def test_policies_stand_by_the_estimator_that_answers_go_by():
    ax = plots.policy_values(VALUES)
    assert rows(ax) == ["the log's own", "new", "old"]
    assert dots(ax, "o") == [(1, 0.7), (2, 0.4)] and dots(ax, "D") == [(0, 0.5)]
    ends = [line.get_segments()[0][:, 0].tolist() for line in ax.collections]
    assert ends == [[0.48, 0.52], [0.6, 0.8], [0.3, 0.5]]
    assert dots(plots.policy_values(VALUES, "ips"), "o") == [(1, 0.72)]
    with pytest.raises(CounterweightError, match="'dr'"):
        plots.policy_values(VALUES, "dr")


class Told:
    def __init__(self, **facts):
        vars(self).update(facts)


def test_revenue_is_the_price_times_who_accepts():
    scale = Told(low=0, high=10, revenue=lambda offer: 2 * offer)
    saved = Told(scale=scale, acceptance=lambda frame, offers: frame["take"] - offers / 20)
    frame = pd.DataFrame({"take": [0.4, 0.6]})
    ax = plots.price_revenue(saved, frame)
    x, y = ax.lines[0].get_data()
    assert len(x) == 41 and y == pytest.approx(2 * x * (0.5 - x / 20))
    assert ax.lines[1].get_xdata() == pytest.approx([5, 5])
    assert ax.get_title(loc="left") == "One offer to all: most at 5, accepted by 25 %"
    # Of a grid there are no other offers.
    saved.facts = {"offer": {"grid": [9, 4, 8]}}
    ax = plots.price_revenue(saved, frame)
    assert ax.lines[0].get_xdata().tolist() == [4, 8, 9]
    assert ax.get_title(loc="left") == "One offer to all: most at 4, accepted by 30 %"
    saved.facts = {"offer": {"grid": None}}
    assert len(plots.price_revenue(saved, frame).lines[0].get_xdata()) == 41


def test_groups_stand_where_they_are_among_the_accepted():
    saved = Told(
        groups=["a", "b"],
        base=np.array([0.7, 0.3]),
        target=np.array([0.5, 0.5]),
        mass=np.array([0.5, 0.5]),
        acceptance=np.array([0.5, 1.0]),
        shares=np.array([[0.9, 0.1], [0.5, 0.5]]),
    )
    saved.shifts = saved.shares - saved.base
    ax = plots.accepted_shares(saved)
    # (.25 of .9 + .5 of .5) / .75
    assert [x for _, x in dots(ax, "o")] == pytest.approx(
        [70, 100 * 0.475 / 0.75, 30, 100 * 0.275 / 0.75]
    )
    assert [x for _, x in dots(ax, "|")] == [50, 50]
    assert ax.get_title(loc="left") == "75 % of rows of the fit are accepted"
    assert rows(ax) == ["a", "b"] and ax.get_xlabel() == "% of the rows of the fit"
    # Rows that did not fit it are told of where there are any, as on the page.
    held = {("share_before", "value", 0): 0.68, ("share_before", "value", 1): 0.32}
    held |= {("share_after", "value", 0): 0.66, ("share_after", "value", 1): 0.34}
    held |= {("share_after", "low", 1): 0.31, ("share_after", "high", 1): 0.38}
    held |= {("acceptance_rate", "value", -1): 0.72, ("disclosivity", "value", -1): 0.231}
    told = Told(**vars(saved) | {"held": held})
    ax = plots.accepted_shares(told)
    assert [x for _, x in dots(ax, "o")] == pytest.approx([68, 66, 32, 34])
    assert ax.get_title(loc="left") == "72 % of held-out rows are accepted"
    intervals = [line.get_segments()[0][:, 0] for line in ax.collections]
    assert [ends.tolist() for ends in intervals] == [pytest.approx([31, 38])]
    assert ", 0.231 on held-out rows" in plots.leaf_shifts(told).get_title(loc="left")
    ax = plots.leaf_shifts(saved, 0.15)
    assert [x for _, x in dots(ax, "o")] == pytest.approx([0.2, -0.2, -0.2, 0.2])
    assert [line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2] == [-0.15, 0.15]
    saved.acceptance = np.zeros(2)
    with pytest.raises(CounterweightError, match="accepts nobody"):
        plots.accepted_shares(saved)


def test_promises_stand_at_what_they_exceed():
    told = [("recall of a", -0.02, 0.01), ("positive rate of b", -0.1, -0.05)]
    told = [dict(zip(("promise", "excess", "excess_decided"), one, strict=True)) for one in told]
    ax = plots.promised_rates(Told(promises=told))
    assert dots(ax, "o") == [(0, -0.02), (0, 0.01), (1, -0.1), (1, -0.05)]
    assert rows(ax) == ["recall of a", "positive rate of b"]
    assert ax.get_title(loc="left") == "1 of 2 promises kept by decisions"
    # A long promise is whole, in two lines.
    told[0]["promise"] = "coverage(women) >= 0.8 * coverage(men)"
    names = rows(plots.promised_rates(Told(promises=told)))
    assert names[0].split("\n") == ["coverage(women) >= 0.8 *", "coverage(men)"]


def test_budgets_are_drawn_as_they_are_expected():
    table = pd.DataFrame({"budget": [10, 40], "plan": [0.1, 0.05], "plain": [0.2, 0.1]})
    ax = plots.label_budget(table.assign(wrong=0.3))
    drawn = {name: line for name, line in zip(legend(ax), ax.lines, strict=True)}
    assert drawn["as planned"].get_ydata().tolist() == [0.1, 0.05]
    assert drawn["plain random sample"].get_ydata().tolist() == [0.2, 0.1]
    assert not ax.collections
    ax = plots.label_budget(table.assign(wrong=0.3, low=[0.08, 0.04], high=[0.3, 0.2]))
    (shaded,) = ax.collections
    assert shaded.get_datalim(ax.transData).extents.tolist() == [10, 0.04, 40, 0.3]
    with pytest.raises(CounterweightError, match="wrong"):
        plots.label_budget(table)


def test_axes_of_ones_own_are_drawn_into_and_settings_stay():
    before = dict(matplotlib.rcParams)
    _, own = pyplot.subplots()
    assert plots.weights([1, 2], ax=own) is own
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", counterweight.NAMES["plots"])
def test_a_figure_is_declared_to_give_axes(name):
    assert getattr(plots, name).__annotations__["return"] == Axes.__name__


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3].astype(int)


@pytest.mark.parametrize("name", counterweight.NAMES["plots"])
def test_a_picture_shows_its_data_and_all_its_words(name):
    pictures = []
    for _ in range(2):
        run = doctest.DocTestRunner(verbose=False)
        said = getattr(plots, name).__doc__
        run.run(doctest.DocTestParser().get_doctest(said, {}, name, "", 0))
        pictures.append(pixels(pyplot.gcf()))
    assert not run.failures and np.array_equal(*pictures)
    figure, (ax,) = pyplot.gcf(), pyplot.gcf().axes
    words = [text.get_text() for text in figure.findobj(Text) if text.get_text()]
    assert len(words) > 4
    # No word is cut at the edge of the picture (in inches).
    held = figure.get_tightbbox()
    assert held.min.min() > -0.02 and (held.max < figure.get_size_inches() + 0.02).all()
    for mark in (*ax.lines, *ax.patches, *ax.collections):
        mark.set_visible(False)
    ((left, bottom), (right, top)) = ax.bbox.get_points().round().astype(int)
    inside = (slice(-top, -bottom or None), slice(left, right))
    moved = (pixels(figure)[inside] != pictures[-1][inside]).any(axis=-1)
    # What is drawn stands in the middle of the Axes, and not in a corner of it.
    assert moved.sum() > 30 and np.ptp(np.nonzero(moved)[1]) > 0.2 * (right - left)
