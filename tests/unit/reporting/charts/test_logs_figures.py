"""Figures of subsampled logs: numbers as they were measured, on scales that show them."""

from drawn_studies import draw


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


def test_curves_are_sorted_along_their_option(study_of):
    study = study_of("keep_rates")
    points = study.curve("sgd-weights", "brier", "keep_rate")
    assert [point[0] for point in points] == [0.001, 0.01, 0.1, 1.0]
    assert all(low < mean < high for _, mean, low, high in points)
    assert study.curve("sgd-weights", "brier", "share") == []
