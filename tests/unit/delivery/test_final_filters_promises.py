"""Simulated promises of filters, small; tests/benchmarks/bench_promises.py has the large ones."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import bench_promises as bench  # noqa: E402


def test_certified_filters_truly_keep_alpha_as_often_as_promised():
    made, broken, most, told = bench.simulate_drawn(draws=30)
    assert made >= 28 and broken <= most
    # Nor is it too careful.
    assert sum(told) / made >= bench.BOLD * 0.2 - 0.02


def test_a_person_alone_in_a_batch_and_asked_again_gets_one_answer():
    different, worst = bench.simulate_people(people=3000, alone=100, files=20)
    assert different == 0 and worst < 3


def test_a_lower_bound_of_what_is_told_is_below_the_truth_and_sees_what_is_plain():
    rng = np.random.default_rng(0)
    truth = np.array([[0.3, 0.2], [0.1, 0.4]])
    base = truth.sum(axis=0)
    told = max(abs(row / row.sum() - base).max() for row in truth)
    bounds = [
        bench.least_disclosure(rng.multinomial(4000, truth.ravel()).reshape(2, 2).astype(float))
        for _ in range(50)
    ]
    assert np.mean([bound <= told for bound in bounds]) >= 0.94
    assert np.mean(bounds) == pytest.approx(told, abs=0.05)
