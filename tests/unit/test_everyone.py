"""The rule that labels every row."""

import numpy as np
import pandas as pd
from counterweight.plan.components import declared, load, options


def test_every_row_is_labeled_and_the_rule_says_that_it_is_complete():
    rule = load("labeling", "everyone")
    for rows in (0, 1, 7):
        selected = rule(pd.DataFrame({"row": range(rows)}), None, np.random.default_rng(0))
        assert selected.dtype == bool
        assert selected.tolist() == [True] * rows
    assert declared("labeling", "everyone", "COMPLETE", False) is True
    assert options("labeling", "everyone") == {}


def test_no_random_number_is_drawn():
    rng = np.random.default_rng(0)
    load("labeling", "everyone")(pd.DataFrame({"row": range(3)}), None, rng)
    assert rng.random() == np.random.default_rng(0).random()
