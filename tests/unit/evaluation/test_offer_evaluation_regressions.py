"""Tables 5 to 7 recomputed from the printed Table 4, and the regression itself."""

import numpy as np
import pytest
from counterweight.errors import CounterweightError
from counterweight.evaluation.offer_evaluation import (
    imbalance,
    overlap_class,
    regress,
    regression_records,
)
from printed_tables import PRINTED_REGRESSIONS, VARIABLES, printed_columns, printed_regression
from records import where


def test_a_regression_is_that_of_statsmodels():
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    for rows in (6, 18):
        columns = {name: rng.normal(size=rows) for name in "abc"}
        y = rng.normal(size=rows) + columns["a"]
        found = regress(columns, y, level=0.9)
        fit = api.OLS(y, api.add_constant(np.column_stack([*columns.values()]))).fit()
        low, high = fit.conf_int(alpha=0.1)[1:].T
        for ours, theirs in (
            (found.coefficient, fit.params[1:]),
            (found.standard_error, fit.bse[1:]),
            (found.p, fit.pvalues[1:]),
            (found.low, low),
            (found.high, high),
            ([found.intercept, found.r2], [fit.params[0], fit.rsquared]),
            ([found.adjusted_r2], [fit.rsquared_adj]),
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("model", PRINTED_REGRESSIONS)
def test_the_printed_tables_follow_from_table_4(model):
    found = printed_regression(model)
    assert found.names == tuple(PRINTED_REGRESSIONS[model]) == VARIABLES[model]
    beta, p, low, high = np.array(list(PRINTED_REGRESSIONS[model].values())).T
    assert np.abs(found.beta - beta).max() < 0.01
    assert np.abs(found.p - p).max() < 0.01
    assert np.abs(found.low - low).max() < 0.006 and np.abs(found.high - high).max() < 0.006


def test_printed_r2_are_plain_but_for_the_last():
    found = {model: printed_regression(model) for model in PRINTED_REGRESSIONS}
    assert found["PCM"].r2 == pytest.approx(0.325, abs=0.005)
    assert found["LR"].r2 == pytest.approx(0.743, abs=0.005)
    assert found["LMT"].r2 == pytest.approx(0.654, abs=0.005)
    assert found["LMT"].adjusted_r2 == pytest.approx(0.579, abs=0.005)


def test_standardised_coefficients_are_those_of_standardised_columns():
    columns = printed_columns()
    x = {name: columns[name] for name in VARIABLES["LR"]}
    y = columns["LR"]
    standard = {name: (v - v.mean()) / v.std() for name, v in x.items()}
    again = regress(standard, (y - y.mean()) / y.std())
    assert np.allclose(again.coefficient, regress(x, y).beta)
    assert np.allclose(again.beta, again.coefficient)


def test_an_exact_line_is_found():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 30))
    found = regress({"a": a, "b": b}, 2 + 3 * a - b + 1e-9 * rng.normal(size=30))
    assert np.allclose(found.coefficient, [3, -1]) and found.r2 == pytest.approx(1)


def test_overlaps_and_imbalance_as_in_the_paper():
    assert overlap_class([0.0, 0.04, 0.05, 0.15, 0.16, 0.25, 0.31, 0.40]).tolist() == [
        1,
        1,
        2,
        2,
        3,
        3,
        4,
        4,
    ]
    assert imbalance(0.85) == pytest.approx(0.1225)


def test_records_hold_every_number():
    records = regression_records(printed_regression("PCM"), "with_overlap")
    assert len(records) == 4 * 5 + 2
    variables = ("imbalance", "overlap", "eta", "k")
    assert {where(record) for record in records} == {
        ("with_overlap",),
        *(("with_overlap", name) for name in variables),
    }
    assert np.isfinite([record["value"] for record in records]).all()


def test_what_cannot_be_regressed_is_told():
    x = np.arange(10.0)
    with pytest.raises(CounterweightError, match="too few"):
        regress({"a": x[:2]}, x[:2])
    with pytest.raises(CounterweightError, match="same in all components: b"):
        regress({"a": x, "b": np.ones(10)}, x**2)
    with pytest.raises(CounterweightError, match="combination"):
        regress({"a": x, "b": 2 * x + 1}, x**2)
    with pytest.raises(CounterweightError, match="finite"):
        regress({"a": np.where(x > 8, np.nan, x)}, x)
