"""Figures: every one can be drawn, with the same bytes each time, and small enough."""

import itertools

import pytest
import report_example as example
import report_filter as filters
import report_offers as offers
import report_rates as rates
import report_subsampled as subsampled
from counterweight.errors import CounterweightError
from counterweight.files.settings import setting_options
from counterweight.plan.components import declared, load, registry
from counterweight.reporting.page import style
from counterweight.reporting.page.results import StudyResults
from counterweight.reporting.page.style import save_svg, spread, svg_text
from matplotlib.text import Text

FIGURES = sorted(registry("figure"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    example.boundary_files(folder)
    offers.files(folder / "offers", offers.plan()["studies"]["admissions"]["offer"])
    filters.files(folder / "filters", "bank_filter")
    return folder


#: Figures of the family on subsampled logs, and the made-up study that each is drawn for.
SUBSAMPLED = {
    "value": "logged_value",
    "ratio_bias": "logged_value",
    "deviation": "bank_ranking",
    "keep_rates": "bank_subsampled",
    "reliability": "bank_subsampled",
    "shares": "bank_budget",
}


#: Figures of the family on offers, all drawn for one made-up study.
OFFERS = ("segments", "curves", "model_order", "enrolment", "profiles")


#: Figures of the family on dataset constraints, and the made-up study that each is drawn for.
RATES = {
    "fairness": "fairness_sex",
    "asked_ratio": "fairness_sex",
    "multipliers": "fairness_sex",
    "churn": "churn",
}


@pytest.fixture(scope="module")
def constrained():
    """Plan and metrics of the family on dataset constraints."""
    plan = rates.plan()
    return plan, rates.metrics(plan)


@pytest.fixture(scope="module")
def filtered():
    """Plan and metrics of a study of balanced filtering, with twelve groups."""
    plan = filters.plan()
    plan["studies"] = {"bank_filter": plan["studies"]["bank_filter"]}
    return plan, filters.metrics(plan)


@pytest.fixture(scope="module")
def offered():
    """Plan and metrics of a study of offers."""
    plan = offers.plan()
    plan["studies"] = {"admissions": plan["studies"]["admissions"]}
    return plan, offers.metrics(plan)


@pytest.fixture(scope="module")
def made():
    """Plan and metrics of the family on subsampled logs."""
    plan = subsampled.plan()
    return plan, subsampled.metrics(plan)


@pytest.fixture
def drawn_from(plan, metrics, folder, made, offered, filtered, constrained):
    """The results that a figure is drawn from; without metrics on request."""

    def results_of(name, empty=False):
        if name in SUBSAMPLED:
            return results(SUBSAMPLED[name], made[0], made[1].iloc[:0] if empty else made[1], ".")
        if name in OFFERS:
            place = folder / "nothing" if empty else folder / "offers"
            return results("admissions", offered[0], offered[1].iloc[: 0 if empty else None], place)
        if name in filters.FIGURES:
            place = folder / "nothing" if empty else folder / "filters"
            table = filtered[1].iloc[: 0 if empty else None]
            return results("bank_filter", filtered[0], table, place)
        if name in RATES:
            rows = constrained[1].iloc[: 0 if empty else None]
            return results(RATES[name], constrained[0], rows, ".")
        study = "curved" if name == "boundary" else "adult_married"
        return results(study, plan, metrics.iloc[:0] if empty else metrics, folder)

    return results_of


def results(study, plan, metrics, folder):
    return StudyResults(study, plan["studies"][study], metrics, folder)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_the_same_bytes_each_time(name, drawn_from, tmp_path):
    draw = load("figure", name)
    study = drawn_from(name)
    paths = [tmp_path / "first.svg", tmp_path / "second.svg"]
    for path in paths:
        save_svg(draw(study), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert len(first) < 400_000
    assert b"<dc:date>" not in first and b"http://www.w3.org/2000/svg" in first
    assert b">No " not in first


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "boundary"])
def test_figures_without_metrics_say_so(name, drawn_from):
    figure = load("figure", name)(drawn_from(name, empty=True))
    assert ">No " in svg_text(figure)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_captions(name):
    assert declared("figure", name, "CAPTION").count(".") >= 1


def test_accuracy_marks_methods_that_failed(plan, metrics, folder):
    some = metrics[metrics["source"] != "generative"]
    figure = load("figure", "accuracy")(results("adult_married", plan, some, folder))
    assert svg_text(figure).count(">failed<") == 2


def test_a_model_that_is_not_there_is_told(plan, metrics, folder):
    study = results("curved", plan, metrics, folder)
    assert study.model("logistic")["coef"].tolist() == [-1.0, 1.0]
    assert float(study.model("logistic")["intercept"]) == 0.3
    with pytest.raises(CounterweightError, match="no model of repeat 7"):
        study.model("logistic", repeat=7)


def test_the_options_of_settings_are_read():
    assert setting_options("inertia=0.9,iterations=5,shifts=all") == {
        "inertia": 0.9,
        "iterations": 5.0,
        "shifts": "all",
    }


def test_labels_are_moved_apart_as_little_as_needed():
    assert spread([0.0, 5.0], 1.0) == [0.0, 5.0]
    assert spread([1.0, 1.0, 1.0], 2.0) == [-1.0, 1.0, 3.0]


def texts(figure):
    """Every text that the figure shows, with its box in pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with style.look():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        # Ticks beyond the limits have a name that is not drawn.
        hidden = {
            tick.label1
            for ax in figure.axes
            for axis in (ax.xaxis, ax.yaxis)
            for tick in axis.get_major_ticks()
            if not min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
        }
        for text in figure.findobj(Text):
            if text.get_visible() and text.get_text().strip() and text not in hidden:
                yield text.get_text(), text.get_window_extent(renderer)


#: Figures of filters; the boxes of slanted names of a heat map overlap where the names do not.
FILTERS = [name for name in filters.FIGURES if name != "heatmap"]


@pytest.mark.parametrize("name", sorted([*SUBSAMPLED, *OFFERS, *FILTERS]))
def test_no_two_texts_overlap(name, drawn_from):
    found = list(texts(load("figure", name)(drawn_from(name))))
    assert len(found) > 8
    for (one, first), (other, second) in itertools.combinations(found, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        along = min(first.y1, second.y1) - max(first.y0, second.y0)
        # Boxes are as high as the font's tallest letter: a pixel or two of them is air.
        assert across <= 0 or along <= 2, f"{one!r} and {other!r}"


def test_names_at_line_ends_keep_their_order_and_distance():
    with style.look():
        figure, axes = style.panels(1, 1, height=2.0)
        axes[0, 0].set_ylim(0.0, 1.0)
        style.label_ends(axes[0, 0], [(0.5, "b", "k"), (0.49, "a", "k"), (9.0, "c", "k")], 1.4)
    heights = {text.get_text(): text.get_position()[1] for text in axes[0, 0].texts}
    gap = 1.25 * 8 / (72 * 1.4)
    assert heights["b"] - heights["a"] == pytest.approx(gap)
    assert heights["c"] == 1.0, "what lies beyond the panel is named at its edge"


def test_the_uncorrected_line_does_not_flatten_the_others(drawn_from, made):
    figure = load("figure", "keep_rates")(drawn_from("keep_rates"))
    brier = made[1].query("study == 'bank_subsampled' and metric == 'brier'")
    spread = brier[~brier["source"].str.endswith("none")]["value"]
    for ax in figure.axes:
        low, high = ax.get_ylim()
        assert low < spread.min() and high < spread.max() + 2 * (spread.max() - spread.min())


def test_losses_that_grow_many_times_get_a_logarithmic_axis(made):
    plan, metrics = made
    worse = metrics.copy()
    grown = worse["setting"].eq("keep_rate=0.001") & worse["source"].str.endswith("weights")
    worse.loc[grown & (worse["metric"] == "brier"), "value"] *= 6
    figure = load("figure", "keep_rates")(results("bank_subsampled", plan, worse, "."))
    assert {ax.get_yscale() for ax in figure.axes} == {"log"}
    assert all(ax.get_ylim()[1] > 0.6 for ax in figure.axes)


def test_curves_are_sorted_along_their_option(drawn_from):
    points = drawn_from("keep_rates").curve("sgd-weights", "brier", "keep_rate")
    assert [point[0] for point in points] == [0.001, 0.01, 0.1, 1.0]
    assert all(low < mean < high for _, mean, low, high in points)
    assert drawn_from("keep_rates").curve("sgd-weights", "brier", "share") == []
