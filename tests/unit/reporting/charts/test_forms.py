"""Figures: drawn from the numbers, whatever is called how, in two widths, the same each time."""

import copy
import itertools
import re
import shutil

import numpy as np
import pandas as pd
import pytest
import report_delivered as delivered
import report_example as example
import report_filter as filters
import report_offers as offers
import report_rates as rates
import report_subsampled as subsampled
from counterweight.errors import CounterweightError
from counterweight.plan import components
from counterweight.plan.components import declared, registry
from counterweight.reporting.charts import forms
from counterweight.reporting.charts.filters_figures import (
    Filters,
    front_of,
    leaves_of,
    outline,
    tree_shown,
)
from counterweight.reporting.charts.forms import draw_study, drawn
from counterweight.reporting.charts.offers_figures import choice_model, past_offers
from counterweight.reporting.numbers import StudyNumbers
from counterweight.tables.parquet import read_table, setting_options
from matplotlib.text import Text

FIGURES = sorted(registry("figure"))
#: The made-up study that each figure is drawn for.
STUDIES = {
    **dict.fromkeys(("value", "ratio_bias"), (subsampled, "logged_value")),
    **dict.fromkeys(("keep_rates", "reliability"), (subsampled, "bank_subsampled")),
    "deviation": (subsampled, "bank_ranking"),
    "shares": (subsampled, "bank_budget"),
    **dict.fromkeys(
        ("segments", "curves", "model_order", "enrolment", "profiles", "response"),
        (offers, "admissions"),
    ),
    **dict.fromkeys(("fairness", "asked_ratio", "multipliers", "bounds"), (rates, "fairness_sex")),
    **dict.fromkeys(("churn", "sequence"), (rates, "churn")),
    **dict.fromkeys(filters.FIGURES, (filters, "bank_filter")),
    "boundary": (example, "curved"),
    "promises": (rates, "fairness_sex"),
    "groups": (filters, "bank_filter"),
    "kept": (delivered.Promised, "promised"),
}
ASKED = {
    "fairness_sex": {"measure": "ratio", "option": "kappa", "form": "at_most_inverse"},
    "churn": {"measure": "churn", "option": "target", "form": "at_most"},
}
MAIN = {
    "adult_married": "logistic-lemma1",
    "fairness_sex": "ramp",
    "churn": "ramp",
    "bank_filter": "alpha_beta",
    "promised": "ramp",
}
#: Of a component that brings a section in each form.
SECTIONS = {
    f"Drawn as {form}": {"columns": ["accuracy", {"metric": "brier", "at_most": 0.2}], "form": form}
    for form in ("dots", "bars", "heat map")
}
#: Studies that say what was delivered as well.
DELIVERED = ("adult_married", "fairness_sex")
PERCENT = {"unit": "share", "percent": True}
MEASURES = {
    "accuracy": {"label": "accuracy", "better": "more", **PERCENT},
    "brier": {"label": "Brier score", "better": "less"},
    "expected_points": {"label": "half of the interval", "unit": "points", "better": "less"},
    **{
        f"{rule} of {rate}": {"label": rate, "better": "less", **PERCENT}
        for rule in ("deterministic", "randomised")
        for rate in ("error", "churn", "recall")
    },
}


def dressed(module, name):
    """A made-up study's part of the plan, with what the planner adds."""
    study = copy.deepcopy(module.plan()["studies"][name])
    study.setdefault("columns", ["accuracy"])
    study.setdefault("protocol", {"name": "metrics", "options": {}})
    study["protocol"]["asked"] = ASKED.get(name)
    study["measures"], study["labels"] = MEASURES, {"measure": {"ips": "IPS", "ratio": "odds"}}
    study["baseline"] = {"churn": "shifted", "bank_budget": "tree-natural"}.get(
        name, study["baseline"]
    )
    study["main"] = MAIN.get(name)
    study["sections"] = SECTIONS if name == "adult_married" else {}
    for one in study["methods"]:
        one["label"] = one["id"].replace("_", " ").capitalize()
        one["role"] = "bound" if one["oracle"] else "method"
        learner, _, rest = one["id"].partition("-")
        if one["model"] == "subsampled":
            one["options"] = {"learner": learner, "correction": rest}
        if one["model"] == "budgeted" and not one["sweep"]:
            share, _, how = rest.partition("-")
            one["options"] = {"share": 0.5 if share == "balanced" else share}
            one["options"] |= {"how": how} if how else {}
    for one in study["selectors"] + study["weightings"]:
        one.setdefault("selector", one["id"])
        one["label"] = one["id"].replace("_", " ")
    return study


@pytest.fixture(scope="module")
def made():
    """Plan and metrics of each made-up study, made once."""
    known = {}

    def make(module, name):
        if name not in known:
            plan = module.plan()
            plan["studies"] = {name: plan["studies"][name]}
            metrics = module._metrics(plan, 0) if module is example else module.metrics(plan)
            if name in DELIVERED:
                metrics = pd.concat([metrics, delivered.metrics(name)], ignore_index=True)
            known[name] = dressed(module, name), metrics
        plan, metrics = known[name]
        return copy.deepcopy(plan), metrics[metrics["study"] == name]

    return make


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    example.boundary_files(folder)
    delivered.answers(folder)
    offers.files(folder / "offers", offers.plan()["studies"]["admissions"]["offer"])
    filters.files(folder / "filters", "bank_filter")
    return folder


@pytest.fixture
def study_of(made, folder):
    """The made-up study that a figure is drawn for; without metrics on request."""

    def study(figure, empty=False, name=None, change=None):
        module, known = STUDIES.get(figure, (example, "adult_married"))
        plan, metrics = made(module, name or known)
        metrics = metrics.iloc[:0] if empty else metrics if change is None else change(metrics)
        place = {offers: "offers", filters: "filters"}.get(module, ".")
        where = folder / ("nothing" if empty else place)
        return StudyNumbers(name or known, plan, metrics, where)

    return study


def draw(figure, study):
    """The wide form of a figure."""
    return drawn(figure, study)[0]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_small_clear_and_the_same_each_time(name, study_of):
    pair = drawn(name, study_of(name))
    named = [*forms.ORDERED, *(one for one in vars(forms).values() if isinstance(one, str))]
    known = {colour.lower() for colour in named if colour.startswith("#")}
    for form, again, width in zip(pair, drawn(name, study_of(name)), ("504", "259.2"), strict=True):
        text = forms.svg_text(form.figure)
        assert text == forms.svg_text(again.figure)
        assert len(text) < 120_000
        assert f'width="{width}pt"' in text and ">No " not in text
        assert set(re.findall(r"#[0-9a-f]{6}\b", text)) <= known, "a dark page cannot swap it"
        assert "data:image" not in text and "nan" not in text.lower().replace("financ", "")
    wide, narrow = pair
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
def test_names_decide_nothing(name, study_of, tmp_path):
    study = study_of(name)
    study.plan["labels"]["measure"] |= {"error": "error", "churn": "churn", "dr": "dr"}
    one, other = draw(name, study), draw(name, renamed(study, tmp_path))
    assert forms.svg_text(one.figure) == forms.svg_text(other.figure)
    assert one.title == other.title and one.points.equals(other.points)


def texts(figure):
    """Every text that the figure shows, with its box in pixels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    with forms.figure_look():
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


#: The boxes of slanted names of a heat map overlap where the names do not.
UPRIGHT = [name for name in FIGURES if name != "heatmap"]


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("name", UPRIGHT)
def test_no_two_texts_overlap_and_none_is_cut(name, narrow, study_of):
    figure = drawn(name, study_of(name))[narrow].figure
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


# What is drawn is what was measured.


def drawn_values(points, **where):
    for column, value in where.items():
        points = points[points[column] == value]
    return points["value"].tolist()


def test_accuracy_is_drawn_for_each_method_and_target(study_of):
    study = study_of("accuracy")
    points = draw("accuracy", study).points
    for target, panel in (("general", "Everyone"), ("unlabeled", "The unlabeled")):
        for one in study.methods(swept=False):
            mean = 100 * study.get(one["id"], "accuracy", target).mean
            item = one["label"] + (" †" if one["role"] == "bound" else "")
            assert drawn_values(points, panel=panel, item=item) == [pytest.approx(mean)]
    gap = study.against("logistic", study.main, "accuracy")
    title = draw("accuracy", study).title
    assert forms.told(gap, study.measure("accuracy"), sign=True) in title and "points [" in title


def test_accuracy_marks_methods_that_failed(study_of):
    study = study_of("accuracy", change=lambda rows: rows[rows["source"] != "generative"])
    assert forms.svg_text(draw("accuracy", study).figure).count(">failed<") == 2


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
def test_what_is_drawn_is_what_was_measured(figure, address, place, series, study_of):
    study = study_of(figure)
    known = study.get(*address, **place)
    assert known.known
    rows = draw(figure, study).points.query("series == @series")
    for factor in (1, 100):
        same = rows[np.isclose(rows["value"], factor * known.mean, rtol=1e-9)]
        if len(same):
            break
    assert len(same)
    if known.bounded and same["low"].notna().any():
        ends = same[["low", "high"]].dropna().to_numpy() / factor
        assert np.isclose(ends, [known.low, known.high]).all(axis=1).any()


def test_the_uncorrected_line_does_not_flatten_the_others(study_of):
    study = study_of("keep_rates")
    brier = study.metrics.query("metric == 'brier'")
    known = brier[~brier["source"].str.endswith("none") & (brier["setting"] != "")]["value"]
    for ax in draw("keep_rates", study).figure.axes:
        low, high = ax.get_ylim()
        assert low < known.min() and high < known.max() + 2 * (known.max() - known.min())


def test_losses_that_grow_many_times_get_a_logarithmic_axis(study_of):
    def worse(rows):
        rows = rows.copy()
        grown = rows["setting"].eq("keep_rate=0.001") & rows["source"].str.endswith("weights")
        rows.loc[grown & (rows["metric"] == "brier"), "value"] *= 6
        return rows

    figure = draw("keep_rates", study_of("keep_rates", change=worse)).figure
    assert {ax.get_yscale() for ax in figure.axes} == {"log"}
    assert all(ax.get_ylim()[1] > 0.6 for ax in figure.axes)


@pytest.mark.parametrize("figure", ["fairness", "asked_ratio", "churn", "multipliers"])
def test_constraints_are_drawn_from_whatever_is_there(figure, study_of):
    peers = ["svm", "zafar", "shifted"]
    for change in (
        lambda rows: rows[rows["repeat"] == 0],
        lambda rows: rows[~rows["source"].isin(peers)],
        lambda rows: rows[rows["source"] != "ramp"],
    ):
        result = draw(figure, study_of(figure, change=change))
        assert "nan" not in (forms.svg_text(result.figure) + result.title).lower()


def test_constraints_name_their_lines(study_of):
    text = forms.svg_text(draw("fairness", study_of("fairness")).figure)
    for name in ("Zafar", "Ramp, randomised", "Svm"):
        assert f">{name}<" in text


@pytest.mark.parametrize("figure", filters.FIGURES)
def test_filters_are_drawn_with_failed_methods_and_one_repeat(figure, study_of):
    lost = ["relaxed", "qp_tree", "naive_regression"]
    study = study_of(
        figure, change=lambda rows: rows[~rows["source"].isin(lost) & (rows["repeat"] == 0)]
    )
    assert ">No " not in forms.svg_text(draw(figure, study).figure)


def test_filters_of_two_groups_are_drawn():
    for name in ("tradeoff", "frontier", "proportions"):
        plan = dressed(filters, "adult_filter")
        plan["methods"] = [one for one in plan["methods"] if one["id"] == "alpha_beta"]
        numbers = StudyNumbers("s", plan, filters.small(), "nowhere")
        assert len(draw(name, numbers).points)


def test_groups_of_two_columns_are_named_by_both(study_of):
    study = study_of("proportions", name="adult_filter_two")
    assert "race: White" in forms.svg_text(draw("proportions", study).figure)


def test_a_front_has_no_point_that_another_beats():
    points = [(0.0, 0.5), (0.1, 0.4), (0.1, 0.3), (0.2, 0.35), (0.3, 0.3), (0.4, 0.1)]
    front = front_of(points)
    assert front == [(0.0, 0.5), (0.1, 0.3), (0.4, 0.1)]
    for x, y in points:
        beaten = any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
        assert beaten is ((x, y) not in front)


def test_heat_maps_show_the_leaves_by_mass(study_of):
    known = Filters(study_of("heatmap"))
    leaves, shares, mass, accepted = leaves_of(known, "alpha_beta", "alpha=0.8")
    assert shares.sum(axis=1) == pytest.approx(np.ones(filters.LEAVES))
    assert mass.sum() == pytest.approx(1) and sorted(leaves) == ["0", "1", "2", "3"]
    assert dict(zip(leaves, accepted, strict=True))["3"] == 1.0


def test_the_outline_names_every_leaf_and_what_speaks_for_yes(tmp_path):
    proxy = filters.files(tmp_path, "adult_filter")
    nodes = proxy.rules("alpha=1")
    features = ["age", "hours_per_week", "years_of_education", "marital_status=Never-married"]
    lines = outline(nodes, features, list(filters.RACES), {})
    leaves = [line for line in lines if line["kind"] == "leaf"]
    assert len(leaves) == sum(node["leaf"] is not None for node in nodes) > 1
    assert sum(node["mass"] for node in nodes if node["leaf"] is not None) == pytest.approx(1)
    up = [features[k].replace("_", " ") for k, b in nodes[0]["terms"] if b > 0 and k < 3]
    words = lines[0]["texts"][0]
    assert all(word in words.partition("low")[0] for word in up)
    assert [line["answer"] for line in lines[:2]] == ["", "yes"]


def test_the_outline_folds_small_branches_of_large_trees():
    def node(number, parent, side, depth, leaf, mass):
        place = {"node": number, "parent": parent, "side": side, "depth": depth, "leaf": leaf}
        rule = {"terms": [(0, 1.0)], "hypotheses": [(1.0, [1.0], 0.0)], "cut": None}
        return place | rule | {"mass": mass, "shares": [0.5, 0.5]}

    nodes, mass, parent, side = [], 1.0, -1, None
    for depth in range(30):
        nodes.append(node(2 * depth, parent, side, depth, None, mass))
        nodes.append(node(2 * depth + 1, 2 * depth, 0, depth + 1, depth, 0.1 * mass))
        parent, side, mass = 2 * depth, 1, 0.9 * mass
    nodes.append(node(60, parent, 1, 30, 30, mass))
    lines = outline(nodes, ["age"], ["a", "b"], {})
    assert sum(line["kind"] == "leaf" for line in lines) == 13
    folded = [line for line in lines if line["kind"] == "folded"]
    assert len(folded) == 1 and folded[0]["texts"][0].startswith("18 more leaves")


def test_without_the_proxy_the_tree_says_so(study_of, tmp_path):
    study = study_of("tree")
    study.folder = tmp_path
    assert ">No tree to draw" in forms.svg_text(draw("tree", study).figure)


def test_the_tree_is_that_of_the_filter_given_away(study_of):
    study = study_of("tree")
    assert tree_shown(Filters(study)) == ("alpha_beta", "alpha=0.2")
    study.plan["filter"]["given"] = {"method": "relaxed", "setting": "alpha=0.4", "repeat": 0}
    assert tree_shown(Filters(study)) == ("relaxed", "alpha=0.4")


@pytest.mark.parametrize("name", ["admissions", "natural_park"])
def test_curves_and_profiles_are_in_the_users_units(name, made, tmp_path):
    plan, metrics = made(offers, name)
    offers.files(tmp_path, plan["offer"], offers="narrow")
    study = StudyNumbers(name, plan, metrics, tmp_path)
    seen = past_offers(study, choice_model(study))
    assert set(seen) == {0, 1, 2}
    up = name == "admissions"
    assert seen[0][0] < (0.15 if up else 85.0) < seen[0][1]
    drawing = draw("curves", study)
    assert drawing.figure.axes[1].get_xlim() == (plan["offer"]["low"], plan["offer"]["high"])
    # The paper's optimal discounts of these three curves, or what is left of the price.
    best = ["0.33", "0.88", "0.55"] if up else ["66.67", "11.77", "45.30"]
    names = list(dict.fromkeys(drawing.points["series"]))
    assert [series.split()[-1] for series in names] == best
    (ax,) = draw("profiles", study).figure.axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x1", "x2"]
    shares = [text.get_text().split(",")[0] for text in ax.get_yticklabels()]
    assert shares == ["40 %", "33 %", "27 %"]
    assert [text.get_text() for text in ax.texts][::2] == ["\N{MINUS SIGN}3.90", "0.10", "2.90"]


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


def test_a_model_that_is_not_there_is_told(study_of):
    study = study_of("boundary")
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


def test_curves_are_sorted_along_their_option(study_of):
    study = study_of("keep_rates")
    points = study.curve("sgd-weights", "brier", "keep_rate")
    assert [point[0] for point in points] == [0.001, 0.01, 0.1, 1.0]
    assert all(low < mean < high for _, mean, low, high in points)
    assert study.curve("sgd-weights", "brier", "share") == []


def test_figure_1_of_the_choice_model_has_the_printed_offer(study_of):
    points = draw("response", study_of("response")).points
    top = points[points["series"] == "best offer, the paper's example"]
    np.testing.assert_allclose(top["at"], 0.5470, atol=5e-5)
    revenue = points[(points["panel"] == "Expected revenue")]
    curve = revenue[revenue["series"] == "the paper's example"]["value"]
    assert curve.max() <= top["value"].min() + 1e-12


def test_figure_1_of_the_constraints_has_bounds_above_the_ramp(study_of):
    points = draw("bounds", study_of("bounds")).points
    lines = points.pivot(index="at", columns="series", values="value")
    z = lines.index.to_numpy()
    np.testing.assert_allclose(lines["ramp"], np.clip(0.5 + z, 0, 1), atol=1e-12)
    for name, touches in (("hinge bound", z <= 0.5), ("constant bound", z >= 0.5)):
        above = (lines[name] - lines["ramp"]).to_numpy()
        assert (above >= -1e-12).all() and np.array_equal(above < 1e-9, touches), name
    slopes = np.diff(lines["hinge bound"])
    assert (np.diff(slopes) > -1e-9).all(), "the bound is convex"


def test_a_method_without_segments_that_is_used_is_what_is_drawn(made, tmp_path):
    plan, metrics = made(offers, "natural_park")
    offers.files(tmp_path, plan["offer"])
    given = metrics.iloc[:1].assign(
        source="delivered", metric="delivered", part="offer_logistic", setting="", value=1.0
    )
    features = pd.read_parquet(tmp_path / "features.parquet")
    labels = pd.read_parquet(tmp_path / "labels.parquet")
    best = (20.0 + 3.0 * features["x1"]).clip(1, 47)
    table = pd.DataFrame({"best_offer": best, "best_p": 0.5, "best_revenue": best / 2})
    table = table.assign(offer=labels["offer"], p=labels["answer"] * 0.8 + 0.1)
    table.to_parquet(tmp_path / "offers.parquet")
    study = StudyNumbers("natural_park", plan, pd.concat([metrics, given]), tmp_path)
    drawing = draw("curves", study)
    assert {*drawing.points["series"]} == {"predicted", "answered", "best offers"}
    said = drawing.points[drawing.points["series"] == "answered"]
    assert said["value"].iloc[:10].between(0, 1).all()
    people = drawing.points[drawing.points["series"] == "best offers"]["value"]
    assert people.sum() == len(table)
    (ax,) = draw("profiles", study).figure.axes
    first = [float(text.get_text().replace("\N{MINUS SIGN}", "-")) for text in ax.texts[::2]]
    assert len(first) == 5 and np.all(np.diff(first) > 0)
    # Where segments are used, they are drawn as before.
    given = given.assign(part="predictive_choice", setting="soft")
    study = StudyNumbers("natural_park", plan, pd.concat([metrics, given]), tmp_path)
    assert "best offers" not in {*draw("curves", study).points["series"]}
