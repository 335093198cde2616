"""Which method of offers is given away: losses on answers that it has not seen."""

from types import SimpleNamespace

import numpy as np
import pytest
from counterweight.delivery.final_offers import _held_out_losses, chosen_method
from counterweight.tables.parquet import write_table


def test_losses_are_those_of_the_test_rows_of_every_world(tmp_path):
    """Each repeat of a study of drawn worlds has rows of its own."""
    rows, answers = np.array([7, 3, 11, 5]), np.array([1, 0, 1, 0], "int8")
    predictions = {
        "role": np.array(["train", "test", "test", "test"]),
        "setting": np.array(["", "", "", ""]),
        "row": np.array([3, 5, 7, 11]),
        "p": np.array([0.9, 0.2, 0.6, 0.5]),
    }
    write_table(tmp_path / "p.parquet", predictions)
    job = SimpleNamespace(
        input=SimpleNamespace(predictions=[str(tmp_path / "p.parquet")]),
        given={"methods": ["one"], "candidates": [{"method": "one", "setting": ""}]},
    )
    found = _held_out_losses(job, {"role": np.array(["train", "test"])}, rows, answers)
    assert found == [pytest.approx(-np.log([0.8, 0.6, 0.5]).mean())]
    assert _held_out_losses(job, {"role": np.array(["train"])}, rows, answers) is None


@pytest.mark.parametrize(
    ("losses", "place"),
    [([0.3494808, 0.3494807, 0.5], 0), ([0.36, 0.34, 0.35], 1), ([0.4, np.inf, 0.39], 2)],
)
def test_the_least_loss_is_taken_and_the_first_of_those_that_are_the_same(losses, place):
    names = [{"method": name, "setting": ""} for name in "abc"]
    job = SimpleNamespace(
        given={"candidates": names, "everybody": False},
        log=SimpleNamespace(info=lambda *told: None),
    )
    chosen, told = chosen_method(job, None, None, None, None, losses)
    assert chosen is names[place] and told[place] == losses[place]
