"""The card of a filter: what each leaf discloses, and markup that is inert."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.delivery import saved_filters as ft
from counterweight.delivery.final_filters import saved_filter
from counterweight.models import filter_card
from counterweight.models.filter_card import TOO_SMALL, card, lower_bound
from counterweight.selection.split_tree import SplitTreeProxy
from filter_study import CASES, GROUPS, case, study


@pytest.fixture(scope="module", params=CASES)
def made(request, tmp_path_factory):
    return case(request.param, tmp_path_factory.mktemp("filter"))


def test_the_card_tells_what_each_leaf_discloses(made):
    text = card(ft.read_filter(made.path))
    for word in (
        "snakemake apply --config candidates=people.csv filter_study=towns",
        "Limits",
        "`income`",
        "Not certified",
        *GROUPS,
    ):
        assert word in text
    own = card(ft.read_filter(made.path), own=True)
    assert "snakemake apply" not in own
    assert "--configfile mine.yaml --config score=people.csv" in own
    assert "`new_accepted.csv`" in own and "`filtered.csv`" in text
    assert f"{np.abs(made.saved.shifts).max():.3f}" in text
    assert "`flat`" not in text and "`group`" not in text
    assert text.count("\n| 0 |") == 1
    held = made.saved.held
    bound = held["disclosivity", "bound", -1]
    assert f"up to {bound:.3f}" in text and bound >= held["disclosivity", "value", -1]


@pytest.mark.parametrize(
    ("after", "ends", "falls"),
    [
        (0.2, (-0.3, -0.1), True),
        (0.35, (-0.15, 0.05), False),
        (0.44, (0.01, 0.07), False),
        (0.2, (-0.2, 0.0), False),
        (0.2, (-0.2, -0.2), True),
        (0.2, None, True),
        (0.44, None, False),
    ],
    ids=[
        "a fall",
        "within chance",
        "a rise",
        "up to nothing",
        "for certain",
        "before, a fall",
        "before, a rise",
    ],
)
def test_a_fall_of_the_imbalance_is_told_as_a_gain_only_beyond_chance(made, after, ends, falls):
    saved = ft.read_filter(made.path)
    saved.held["imbalance_before", "value", -1] = 0.4
    saved.held["imbalance", "value", -1] = after
    for end, at in zip(("low", "high"), ends or (np.nan, np.nan), strict=True):
        saved.held["imbalance_change", end, -1] = at
    text = card(saved)
    assert ("no gain beyond chance" in text) == ("Do not turn people away" in text) == (not falls)
    if ends:
        told = f"a change of {after - 0.4:.3f} ({ends[0]:.3f} to {ends[1]:.3f})"
        assert told.replace("-", "−") in text
        shown = saved.shown()["imbalance"]
        assert f"{after:.3f}, 0.400 among all" in shown
        assert ("not beyond chance" in shown) == (ends[0] < 0 <= ends[1])
    rate = f"{100 * saved.held['acceptance_rate', 'value', -1]:.1f} %"
    assert saved.shown()["accepted of held-out rows"] == rate
    assert f"It accepts {rate}" in text and "of the people that were held out" in text


def test_markup_in_titles_and_groups_is_inert_on_the_card():
    found = study(SplitTreeProxy(alphas=[0.0, 0.1], min_weight_fraction_leaf=0.05), "alpha=0.1")
    facts = found.parts["facts"] | {"title": "<script>alert(1)</script>"}
    saved = saved_filter(**found.parts | {"facts": facts})
    saved.groups[2], saved.classes = "<b>red</b> | x", ["<i>g"] * 3
    text = card(saved)
    assert not any(mark in text for mark in ("<script>", "<i>", "<b>"))
    assert "&lt;b&gt;red&lt;/b&gt; \\| x" in text


@pytest.fixture
def plain():
    """A saved filter of fourteen leaves and two groups, with nothing held out."""
    found = study(SplitTreeProxy(alphas=[0.0, 0.1], min_weight_fraction_leaf=0.05), "alpha=0.1")
    saved = saved_filter(**found.parts)
    rng = np.random.default_rng(0)
    saved.mass, saved.acceptance = rng.dirichlet(np.ones(14)), rng.random(14)
    saved.shares = rng.dirichlet(np.ones(3), 14)
    return saved


def test_shares_of_the_accepted_are_those_of_the_leaves_where_nothing_was_held_out(plain):
    text = card(plain)
    after = plain.acceptance * plain.mass @ plain.shares / (plain.acceptance @ plain.mass)
    for name, *shares in zip(GROUPS, plain.base, after, plain.target, strict=True):
        row = " | ".join([name, *(f"{100 * share:.1f} %" for share in shares)])
        assert f"| {row} |" in text
    assert "Shares among rows that it was fitted on." in text and "No promise" in text


def test_the_leaves_shown_are_those_of_most_accepted_and_the_rest_is_counted(plain):
    text = card(plain)
    accepted = plain.acceptance * plain.mass
    least = np.argsort(accepted)[:2]
    for leaf in range(14):
        assert (f"\n| {leaf} | " in text) == (leaf not in least)
    assert "2 further leaves, of fewer accepted rows" in text
    plain.mass, plain.acceptance = plain.mass[:12] / plain.mass[:12].sum(), plain.acceptance[:12]
    plain.shares = plain.shares[:12]
    assert "further leaves" not in card(plain)


def test_candidates_needed_are_quantiles_of_the_negative_binomial(plain):
    from scipy.stats import nbinom

    plain.acceptance = plain.acceptance / plain.rate / 4
    low, high = (100 + nbinom.ppf(share, 100, 0.25) for share in (0.025, 0.975))
    assert f"| 100 | 400 | {low:,.0f} | {high:,.0f} |" in card(plain)
    assert "It accepts 25.0 % of the people: one of 4." in card(plain)
    plain.acceptance = np.zeros(14)
    with np.errstate(invalid="ignore"):
        assert "Too few are accepted to say." in card(plain)


def test_shares_that_are_withheld_are_not_told_and_a_shift_of_nothing_is(plain):
    plain.shares = np.tile(plain.base, (14, 1))
    assert "the largest shift is 0.000 on the training rows" in card(plain)
    plain.shares[:] = np.nan
    assert "No leaf's shares may be told." in card(plain)


def test_what_is_released_is_told_together_where_it_is_several(plain):
    plain.held = {
        (name, kind, at): 0.1 + at / 100
        for name in ("released", "disclosivity")
        for kind in ("value", "bound")
        for at in (-1, 0, 1)
    } | {("rows", "value", -1): 50, ("level", "value", -1): 0.9}
    assert "| `accepted` | 0.100 | 0.100 |" in card(plain)
    assert "together" not in card(plain)
    assert "so `accepted` differs by chance from the shares of the accepted under" in card(plain)
    plain.release = ["accepted", "leaf"]
    assert "| `leaf` | 0.110 | 0.110 |\n| all of them together | 0.090 | 0.090 |" in card(plain)
    assert "`accepted` and `leaf`, and nothing else" in card(plain)


def held(**more):
    """A filter with what held-out rows say of disclosure."""
    facts = {"epsilon": 0.5, "min_cell_count": 5} | more.pop("facts", {})
    told = {("rows", "value"): 1234, ("level", "value"): 0.9, ("disclosivity", "bound"): 0.1234}
    told |= {("disclosivity", "value"): 0.05} | more.pop("told", {})
    return SimpleNamespace(held={(*key, -1): one for key, one in told.items()}, facts=facts)


def test_a_promise_is_the_certificate_or_what_new_people_may_be_told():
    certified = filter_card._promise(held(facts={"alpha": 0.2}))
    assert certified.startswith("**Certified at alpha 0.2.**") and "further than 0.123" in certified
    assert certified.endswith("by 1,234 rows that did not fit it, with confidence 90 %.")
    both = filter_card._promise(held(facts={"alpha": 0.2}, told={("disclosivity", "alone"): 0.08}))
    assert "By themselves these rows bound it at 0.080" in both
    for facts, kept in (
        ({}, "Its alpha holds on the rows that it was fitted on."),
        ({"chosen": 0.07}, "were to be told at most 0.07, and are told 0.050."),
    ):
        text = filter_card._promise(held(facts=facts))
        assert text.startswith("**Not certified.** ") and kept in text and "up to 0.123" in text
    assert lower_bound(None) == lower_bound(np.nan) == ""


def test_noise_and_withheld_shares_are_told():
    whole = SimpleNamespace(facts={"epsilon": 0.5, "min_cell_count": 5}, base=np.array([0.4, 0.6]))
    text = filter_card._noise(whole)
    assert "epsilon 0.5" in text and "fewer than 5 people" in text and "next smallest" not in text
    whole.base = np.array([np.nan, np.nan])
    assert filter_card._noise(whole).endswith(TOO_SMALL)
    assert filter_card._noise(SimpleNamespace(facts={})) == ""


def test_a_limit_of_distortion_is_told_beside_what_was_found(plain):
    assert "have to be others" not in card(plain)
    plain.measures = {("distorted", "train"): 0.125}
    text = card(plain)
    assert "12.5 % on the rows that it was fitted on. No limit was asked for" in text
    plain.facts = plain.facts | {"max_distortion": 0.2}
    assert "At most 20 % were asked for" in card(plain)


def test_columns_that_become_more_uneven_beyond_chance_are_named():
    ends = {"sex": (0.1, 0.2, 0.02, 0.18), "town": (0.3, 0.1, -0.3, -0.1), "age": (0, 0, 0.0, 0.1)}
    saved = SimpleNamespace(changes=lambda: ends)
    assert filter_card._worse(saved).startswith("**It makes sex more uneven.**")
    ends.pop("sex")
    assert filter_card._worse(saved) == ""


def test_what_people_who_were_asked_say_is_told_of_those_without_a_group():
    saved = SimpleNamespace(
        classes=["g", "g"], groups=["red", "blue"], facts={"alpha": 0.2}, shifts=np.zeros((2, 2))
    )
    share = SimpleNamespace(value=0.25, low=0.2, high=0.3)
    told = {"certified": True, "labels": 1500, "bound": 0.111, "value": 0.05, "level": 0.9}
    told |= {"refused": 0, "imbalance_before": 0.3, "imbalance": None, "worst": 0.4}
    answers = SimpleNamespace(**told, before={"red": share}, accepted={})
    text = filter_card._asked(saved, answers)
    assert "## People who had told no group" in text and "By 1,500 of them" in text
    assert "**Certified at alpha 0.2 for people who had told no group.**" in text
    assert "0.300 among them" not in text and "is 0.300, and not measured among those" in text
    assert "| red | 25.0 % (20.0 to 30.0) | not measured |" in text and "left a blank" not in text
    answers.certified, answers.refused, answers.imbalance = False, 12, 0.1
    saved.classes, saved.facts = ["g", "h"], {"chosen": 0.3}
    text = filter_card._asked(saved, answers)
    assert "**Not certified at alpha 0.3 for people who had not told all their groups.**" in text
    assert "12 who were asked left a blank" in text and "it is at most 0.400" in text
    answers.certified = None
    assert "ertified" not in filter_card._asked(saved, answers)


def test_words_are_listed_and_shares_withheld_are_said_to_be():
    assert (
        filter_card._words(["a"]) == "a"
        and filter_card._words(["a", "b", "c"], "or") == "a, b or c"
    )
    assert filter_card._percent(np.nan) == "withheld" and filter_card._percent(0.125) == "12.5 %"
    assert filter_card._number(None) == filter_card._number(np.nan) == "not measured"
