"""What several unit tests look at: a made-up plan and its metrics."""

import pytest
import report_example as example


@pytest.fixture(scope="module")
def plan():
    return example.plan()


@pytest.fixture(scope="module")
def metrics(plan):
    return example.metrics(plan)
