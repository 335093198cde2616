"""Figures: drawn from the numbers, whatever is called how, in two widths, the same each time."""

import copy
import functools
import itertools
import re
import shutil

import numpy as np
import pytest
from counterweight.plan import components
from counterweight.plan.components import declared
from counterweight.reporting.charts import forms
from counterweight.reporting.charts.forms import draw_study, drawn
from counterweight.reporting.numbers import StudyNumbers
from counterweight.tables.parquet import read_table, setting_options
from drawn_studies import FIGURES, STUDIES, draw
from matplotlib.text import Text


@pytest.fixture(scope="module")
def labelled(study_of):
    """The study of a figure, made once for all of its figures, as in a run.

    Its measures have labels, which stay where their names do not.
    """

    @functools.cache
    def made(place):
        study = study_of(next(name for name in FIGURES if STUDIES.get(name) == place))
        study.plan["labels"]["measure"] |= {"error": "error", "churn": "churn", "dr": "dr"}
        return study

    return lambda name: made(STUDIES.get(name))


@pytest.fixture(scope="module")
def renamed_of(labelled, tmp_path_factory):
    """The study of a figure under other names."""
    made = functools.cache(lambda study: renamed(study, tmp_path_factory.mktemp("renamed")))
    return lambda name: made(labelled(name))


@pytest.fixture(scope="module")
def pair_of(labelled):
    """Both forms of a figure with their files, drawn once."""
    return functools.cache(
        lambda name: [(form, forms.svg_text(form.figure)) for form in drawn(name, labelled(name))]
    )


def renamed(study, folder):
    """The same study with other ids of methods, proxies, weightings and measures, same labels."""
    plan, kinds = copy.deepcopy(study.plan), ("methods", "selectors", "weightings")
    ids = [one["id"] for kind in kinds for one in plan[kind]]
    new = {old: f"x{k}" for k, old in enumerate(dict.fromkeys(ids))}
    measures = {"error": "cost", "ratio": "quotient", "churn": "moved", "ips": "one", "dr": "four"}
    for kind in kinds:
        for one in plan[kind]:
            one["id"] = new[one["id"]]
            if kind != "selectors":
                one["selector"] = new.get(one["selector"], one["selector"])
    for key in ("main", "baseline"):
        plan[key] = new.get(plan.get(key))
    given = (plan.get("filter") or {}).get("given")
    if given:
        given["method"] = new[given["method"]]
    if swept := (plan.get("filter") or {}).get("swept"):
        plan["filter"]["swept"] = {new.get(name, name): option for name, option in swept.items()}
    protocol = plan["protocol"]
    if protocol["asked"]:
        protocol["asked"]["measure"] = measures[protocol["asked"]["measure"]]
    options = protocol["options"]
    if "measures" in options:
        known = options["measures"].items()
        options["measures"] = {measures.get(name, name): text for name, text in known}
    if options.get("equal"):
        options["equal"] = options["equal"] | {"measure": "quotient", "of": "cost"}
    said = plan["labels"]["measure"].items()
    plan["labels"] = {"measure": {measures.get(name, name): text for name, text in said}}
    plan["measures"] = plan["measures"] | {
        f"{rule} of {measures[rate]}": plan["measures"][f"{rule} of {rate}"]
        for rule in ("deterministic", "randomised")
        for rate in ("error", "churn")
    }
    metrics = study.metrics.replace({"source": new, "measure": measures})
    for path in study.folder.rglob("*.parquet"):
        own = path.relative_to(study.folder)
        stem, _, rest = own.name.partition(".")
        stem = new.get(stem, stem) if own.parts[1:] else stem
        target = folder / own.parent / f"{stem}.{rest}"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    return StudyNumbers(study.name, plan, metrics, folder)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_small_clear_and_the_same_whatever_things_are_called(name, pair_of, renamed_of):
    pair, others = pair_of(name), drawn(name, renamed_of(name))
    named = [*forms.ORDERED, *(one for one in vars(forms).values() if isinstance(one, str))]
    known = {colour.lower() for colour in named if colour.startswith("#")}
    for (form, text), other, width in zip(pair, others, ("504", "259.2"), strict=True):
        assert text == forms.svg_text(other.figure)
        assert form.title == other.title and form.points.equals(other.points)
        assert len(text) < 120_000
        assert f'width="{width}pt"' in text and ">No " not in text
        assert set(re.findall(r"#[0-9a-f]{6}\b", text)) <= known, "a dark page cannot swap it"
        assert "data:image" not in text and "nan" not in text.lower().replace("financ", "")
    (wide, _), (narrow, _) = pair
    assert wide.title == narrow.title and len(wide.title) > 20 and "nan" not in wide.title
    assert 4 <= len(wide.alt.split()) <= 14
    assert wide.points.equals(narrow.points) or name in {"heatmap", "profiles"}
    assert len(wide.points) and wide.points["value"].notna().all()
    assert declared("figure", name, "CAPTION").count(".") in range(1, 5)


@pytest.mark.parametrize("name", FIGURES)
def test_figures_without_metrics_say_so(name, study_of):
    blank = draw(name, study_of(name, empty=True))
    assert ">No" in forms.svg_text(blank.figure) and blank.title.startswith("No")
    assert blank.points.empty


def texts(figure):
    """Every text of a figure whose file was written, with its box in pixels, laid out as there."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with forms.figure_look():
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.set_layout_engine("none")
        figure.draw_without_rendering()
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


#: The boxes of slanted names of a heat map overlap where the names do not.
UPRIGHT = [name for name in FIGURES if name != "heatmap"]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", UPRIGHT)
def test_no_two_texts_overlap_and_none_is_cut(name, narrow, pair_of):
    figure = pair_of(name)[narrow][0].figure
    found = list(texts(figure))
    assert len(found) > 8
    for text, box in found:
        assert box.x0 >= -1 and box.x1 <= figure.bbox.x1 + 1, f"{text!r} is cut"
    for (one, first), (other, second) in itertools.combinations(found, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        along = min(first.y1, second.y1) - max(first.y0, second.y0)
        # Boxes are as high as the font's tallest letter: a pixel or two of them is air.
        assert across <= 1 or along <= 2, f"{one!r} and {other!r}"


def test_words_keep_their_contrast():
    def light(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        parts = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return np.dot((0.2126, 0.7152, 0.0722), parts) + 0.05

    for colour in (forms.INK, forms.GREY, forms.BLUE, forms.RED_TEXT):
        assert light(forms.PAPER) / light(colour) > 4.5


@pytest.mark.parametrize(
    ("figure", "address", "place", "series"),
    [
        (
            "keep_rates",
            ("sgd-spline", "brier"),
            {"setting": "keep_rate=0.01"},
            "spline calibration",
        ),
        ("shares", ("tree-shares", "auc"), {"setting": "share=0.25"}, "given shares"),
        ("deviation", ("logistic", "agarwal_bound"), {"setting": "N=400,rho=0.5"}, "bound"),
        ("ratio_bias", ("stochastic", "ratio_bias"), {"setting": "n=500"}, "Stochastic"),
        (
            "fairness",
            ("hinge", "deterministic"),
            {"measure": "error", "setting": "kappa=0.5"},
            "Hinge",
        ),
        (
            "asked_ratio",
            ("ramp", "randomised"),
            {"measure": "ratio", "setting": "kappa=0.5"},
            "Ramp, randomised",
        ),
        (
            "churn",
            ("ramp", "randomised"),
            {"measure": "churn", "setting": "target=0.04"},
            "randomised, test",
        ),
        ("tradeoff", ("relaxed", "imbalance", "test"), {"setting": "alpha=0.5"}, "Relaxed"),
        (
            "proportions",
            ("alpha_beta", "group_share", "test"),
            {"setting": "alpha=0.2", "part": "student"},
            "accepted, test rows",
        ),
        (
            "enrolment",
            ("predictive_choice", "enrolment_predicted"),
            {"setting": "soft"},
            "predicted",
        ),
        ("value", ("stochastic", "whole_value"), {"measure": "ips"}, "IPS"),
        ("selection", ("known", "calibration_observed", ""), {"part": "3"}, "observed"),
        (
            "weights",
            ("lemma1-known", "balance_after", "general"),
            {"part": "age"},
            "after weighting",
        ),
    ],
)
def test_what_is_drawn_is_what_was_measured(figure, address, place, series, labelled, pair_of):
    known = labelled(figure).get(*address, **place)
    assert known.known
    rows = pair_of(figure)[0][0].points.query("series == @series")
    for factor in (1, 100):
        same = rows[np.isclose(rows["value"], factor * known.mean, rtol=1e-9)]
        if len(same):
            break
    assert len(same)
    if known.bounded and same["low"].notna().any():
        ends = same[["low", "high"]].dropna().to_numpy() / factor
        assert np.isclose(ends, [known.low, known.high]).all(axis=1).any()


def test_files_of_a_study_are_drawn_whole_or_one_by_one(study_of, tmp_path):
    study = study_of("fairness")
    draw_study(study, tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    ends = (".svg", "-narrow.svg", ".csv")
    wanted = {f"{one}{end}" for one in study.plan["figures"] for end in ends}
    assert names == wanted | {"figures.parquet"}
    titles = read_table(tmp_path / "figures.parquet")
    assert titles["figure"].tolist() == study.plan["figures"]
    assert titles["title"].str.len().min() > 9
    before = (tmp_path / "fairness.csv").read_bytes()
    draw_study(study, tmp_path, ["fairness"])
    assert (tmp_path / "fairness.csv").read_bytes() == before
    assert len(read_table(tmp_path / "figures.parquet")) == len(titles)


def test_a_figure_of_ones_own_is_shown_by_declaration_alone(study_of, tmp_path, monkeypatch):
    (tmp_path / "own_figure.py").write_text(
        "from counterweight.reporting.charts import forms\n"
        'CAPTION = "One line."\n'
        "def draw(study):\n"
        "    canvas = forms.Canvas(['Mine'], x='Step', y='Value')\n"
        "    canvas.all[0].line('all', [(0, 1), (1, 3, 2, 4)], forms.MAIN)\n"
        "    return canvas.drawing('It rises by 2 from 1 to 3', 'A line that rises')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(components._registry("figure"), "own", "own_figure:draw")
    study = study_of("accuracy")
    study.plan["figures"] = ["own"]
    draw_study(study, tmp_path / "figures")
    head, first, second = (tmp_path / "figures" / "own.csv").read_text().splitlines()
    assert head == "panel,series,at,value,low,high,measures"
    assert (first, second) == ("Mine,all,0,1,,,Value", "Mine,all,1,3,2,4,Value")


def test_the_options_of_settings_are_read():
    assert setting_options("inertia=0.9,iterations=5,shifts=all") == {
        "inertia": 0.9,
        "iterations": 5.0,
        "shifts": "all",
    }


def rows_of(values):
    """A canvas with a dot in each row, and its panel."""
    canvas = forms.Canvas([""], forms.row_height(len(values)), "x")
    canvas.rows([f"row {k}" for k in range(len(values))])
    for row, value in enumerate(values):
        canvas.all[0].dot(row, "a <b>", (value, 0, value - 0.1, value + 0.1), forms.MAIN)
    return canvas, canvas.all[0]


def test_marks_show_their_values_on_hover():
    with forms.figure_look():
        canvas, panel = rows_of([1.0, 2.0])
        panel.line("way", [(1, 3.0), (2, 4.0, 3.5, 4.5)], forms.Look(forms.BLUE, ""))
        panel.bars("size", [0, 1], [0.25, np.nan], forms.BLUE, 0.5, rows=True)
        text = forms.svg_text(canvas.drawing("t", "a").figure)
    assert sorted(re.findall("<title>(.*?)</title>", text)) == [
        "row 0, a &lt;b&gt;: 1.00 [0.90, 1.10]",
        "row 0, size: 0.250",
        "row 1, a &lt;b&gt;: 2.00 [1.90, 2.10]",
        "way, at 1: 3.00",
        "way, at 2: 4.00 [3.50, 4.50]",
    ]
    # On the bar, not on the first mark of the legend behind it.
    assert re.search(r"<path [^>]*><title>row 0, size", text)
    assert "told-" not in text


def test_far_off_values_stretch_no_scale():
    with forms.figure_look():
        near = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
        canvas, panel = rows_of([*near, 900.0])
        panel.upright(-3.0, forms.BASELINE)
        canvas.drawing("t", "a")
        assert panel.ax.get_xlim()[0] == pytest.approx(-3.0) and panel.ax.get_xlim()[1] < 3
        assert "900.00 →" in [text.get_text() for text in panel.ax.texts]
        canvas, panel = rows_of(near)
        before = panel.ax.get_xlim()
        canvas.drawing("t", "a")
        assert panel.ax.get_xlim() == before and not panel.ax.texts
