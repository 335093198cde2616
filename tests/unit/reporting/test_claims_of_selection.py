"""Claims of selection bias on made-up metrics: each can hold, fail and stay open."""

from pathlib import Path

import numpy as np
import pytest
from counterweight.reporting.claims import decide, load_claims

CLAIMS = Path(__file__).resolve().parents[3] / "workflow" / "claims" / "smith_elkan_2007.yaml"
HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"
IN_PART, DEPENDS = "holds where it could be decided", "depends"
#: Far enough apart over ten splits that an interval holds its middle and what is near it.
WIDE = 0.5


@pytest.fixture(scope="module")
def claims():
    return {claim["id"]: claim for claim in load_claims([CLAIMS])[0]}


def changed(metrics, *changes):
    """Metrics with other values: mean and half-width of what two kinds of splits have."""
    metrics = metrics.copy()
    for study, source, metric, mean, width in changes:
        at = (metrics["metric"] == metric) & metrics["source"].str.fullmatch(source)
        at &= metrics["study"].str.fullmatch(study)
        assert at.any(), (study, source, metric)
        sign = np.where(metrics.loc[at, "repeat"] % 2 == 0, 1.0, -1.0)
        metrics.loc[at, "value"] = mean + width * sign
    return metrics


BOTH, DRAWN = "adult_married|ca_coastal", "adult_married|adult_married_numeric"
CASES = {
    "S03": [
        (HOLDS, [(DRAWN, "shifted_mixture", "accuracy", 0.9, 0)]),
        (FAILS, [(DRAWN, "shifted_mixture", "accuracy", 0.5, 0)]),
        (OPEN, [(DRAWN, "shifted_mixture", "accuracy", 0.73, WIDE)]),
        (IN_PART, [("adult_married", "shifted_mixture", "accuracy", 0.73, WIDE)]),
        (DEPENDS, [("adult_married", "shifted_mixture", "accuracy", 0.5, 0)]),
    ],
    "S14": [
        (HOLDS, []),
        (DEPENDS, [("adult_mar", "trees_of_x_and_s", "log_loss", 0.1, 0)]),
        (
            FAILS,
            [
                (BOTH, "trees_of_x_and_s", "log_loss", 0.9, 0),
                ("curved", "trees_of_x_and_s", "log_loss", 0.1, 0),
            ],
        ),
        (IN_PART, [(BOTH, "trees_of_x_and_s", "log_loss", 0.3, WIDE)]),
    ],
    "S15": [
        (HOLDS, []),
        (DEPENDS, [("curved|straight", "lemma1-known", "balance_z", 2.0, 0)]),
        # Slightly wrong weights that pass the bound say that it is none.
        (DEPENDS, [("curved|straight", "lemma1_tempered-known", "balance_z", 0.5, 0)]),
        (
            FAILS,
            [
                ("curved|straight", "lemma1-known", "balance_z", -2.0, 0),
                ("curved|straight", "lemma1_tempered-known", "balance_z", 0.5, 0),
            ],
        ),
    ],
    "S16": [(HOLDS, []), (DEPENDS, [("curved", "lemma2-known", "balance_z", 1.5, 0)])],
    "S25": [
        (
            HOLDS,
            [
                (BOTH, "generative(-redrawn)?", "accuracy", 0.7, 0),
                (BOTH, "generative(-redrawn)?", "components_small", 0.4, 0),
            ],
        ),
        (
            FAILS,
            [
                (BOTH, "generative", "accuracy", 0.7, 0),
                (BOTH, "generative-redrawn", "accuracy", 0.72, 0),
                (BOTH, "generative(-redrawn)?", "components_small", 2.0, 0),
            ],
        ),
        (
            IN_PART,
            [
                (BOTH, "generative", "accuracy", 0.7, 0),
                (BOTH, "generative-redrawn", "accuracy", 0.705, 0.005),
            ],
        ),
    ],
    "S26": [
        (HOLDS, []),
        (DEPENDS, [(BOTH, "shifted_mixture", "moved_right", -0.3, 0)]),
        (IN_PART, [(BOTH, "shifted_mixture", "moved_right", 0.0, WIDE)]),
        (
            FAILS,
            [
                (BOTH, "shifted_mixture", "moved_right", -0.3, 0),
                (BOTH, "shifted_mixture", "decisions_moved", 0.0, 0),
            ],
        ),
    ],
    "S27": [
        (HOLDS, [(".*", "kernel_mean_matching|rosset.*", "balance_after", 0.01, 0)]),
        (FAILS, [(".*", "kernel_mean_matching|rosset.*", "balance_after", -0.5, 0)]),
        (OPEN, [(".*", "kernel_mean_matching|rosset.*", "balance_after", 0.1, 0.09)]),
        (
            DEPENDS,
            [
                (".*", "kernel_mean_matching|rosset", "balance_after", 0.01, 0),
                (".*", "rosset_label_only", "balance_after", 0.4, 0),
            ],
        ),
    ],
    "S28": [
        (DEPENDS, []),
        (HOLDS, [(BOTH, "bickel_joint", "least_curvature", 1e-3, 0)]),
        (FAILS, [(BOTH, "bickel_joint-exponential", "least_curvature", -1e-3, 0)]),
    ],
}


@pytest.mark.parametrize(
    ("name", "expected", "changes"),
    [(name, expected, changes) for name, cases in CASES.items() for expected, changes in cases],
)
def test_a_claim_follows_its_numbers(claims, metrics, plan, name, expected, changes):
    decided = decide([claims[name]], changed(metrics, *changes), plan).iloc[0]
    assert decided["verdict"] == expected, decided["detail"]


def test_every_claim_of_the_ledger_that_this_workflow_can_decide_has_rules(claims):
    assert list(claims) == [f"S{number:02d}" for number in range(1, 29)]
    assert not [name for name, claim in claims.items() if "decide" not in claim]
