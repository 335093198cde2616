"""Accuracy, over all and by group, of classifiers trained on whom a filter accepts."""

import numpy as np

from counterweight.files.tables import by_setting


def classifier_records(predictions, arrays, rows, outcome, Z, titles):
    """Records of the classifiers of one method in one repeat.

    Parameters
    ----------
    predictions : dict of str to array, or None
        ``row, setting, p`` of the test rows.
    arrays : dict of (str, str) to array
        See `BalancedFilter.to_arrays`.
    rows : array (n,)
        Test rows.
    outcome : array (n,) of 0, 1 and NaN
        Rows without an outcome are not counted.
    Z : array (n, K)
        Their memberships.
    titles : list of str
        Names of the groups.

    Returns
    -------
    list of dict
        Test rows: ``accuracy`` (a row is predicted 1 where p > 1/2), ``accuracy_group``
        (the part is the group), each with its standard error; ``accuracy_worst``, the
        least of them; ``groups_untested`` where a group has no test row with an outcome. Of the
        training rows: ``rows_accepted`` and, where they allow no classifier,
        ``no_classifier``.
    """
    records = []
    for name in ("rows_accepted", "no_classifier"):
        records += [
            {"target": "train", "metric": name, "setting": setting, "value": float(own[name])}
            for setting, own in by_setting(arrays).items()
            if name in own
        ]
    known = ~np.isnan(outcome)
    if predictions is None or not known.any():
        return records
    settings = np.asarray(predictions["setting"])
    counts = Z[known].sum(axis=0)
    for setting in dict.fromkeys(settings.tolist()):
        mine = settings == setting
        order = np.argsort(predictions["row"][mine], kind="stable")
        at = order[np.searchsorted(predictions["row"][mine][order], rows[known])]
        right = ((predictions["p"][mine][at] > 0.5) == (outcome[known] > 0.5)).astype(float)
        place = {"target": "test", "setting": setting, "rows": len(right)}
        share = right.mean()
        records.append(
            place
            | {
                "metric": "accuracy",
                "value": share,
                "standard_error": np.sqrt(share * (1 - share) / len(right)),
            }
        )
        shares = right @ Z[known] / np.where(counts > 0, counts, 1)
        records += [
            {
                "target": "test",
                "metric": "accuracy_group",
                "setting": setting,
                "part": title,
                "value": a,
                "rows": int(count),
                "standard_error": np.sqrt(a * (1 - a) / count),
            }
            for title, a, count in zip(titles, shares, counts, strict=True)
            if count > 0
        ]
        records.append(place | {"metric": "accuracy_worst", "value": shares[counts > 0].min()})
        if (counts == 0).any():
            records.append(place | {"metric": "groups_untested", "value": (counts == 0).sum()})
    return records
