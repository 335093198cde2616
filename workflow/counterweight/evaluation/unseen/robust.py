"""Doubly robust means over rows whose outcome is not seen: of the outcome, and of losses."""

import numpy as np


def doubly_robust_mean(values, expected, weight, expected_target, design):
    """Mean over a target: mean of what is expected of it, put right by weighted residuals.

    Right where either is: the weights (then the residuals put right whatever was expected) or the
    expectations (then residuals are 0 on average under any weights). Where both are wrong, so is
    the mean; nothing shows it, and where labels are missing not at random both are.

    Parameters
    ----------
    values, expected : array (M,)
        Of labeled rows: what was seen, and what a model foretold that had not seen the row.
    weight : array (M,)
        To the target; any scale.
    expected_target, design : array (T,)
        What the model expects of the rows of the target, and their design weights.

    Returns
    -------
    value, standard_error : float
        The error takes weights and model as given.

    References
    ----------
    Robins, Rotnitzky & Zhao (1994); Kang & Schafer (2007), section 2.
    """
    weight, share = weight / weight.sum(), design / design.sum()
    residual = values - expected
    shift, mean = float(weight @ residual), float(share @ expected_target)
    error = weight**2 @ (residual - shift) ** 2 + share**2 @ (expected_target - mean) ** 2
    return mean + shift, float(np.sqrt(error))


def expected_losses(p, chance):
    """What a decision and a Brier score are expected to be, by name, where y is 1 by chance.

    Parameters
    ----------
    p, chance : array (n,)
        Estimates that are judged; chances that they are judged by.

    Returns
    -------
    dict of str to array (n,)
    """
    yes = p >= 0.5
    return {
        "accuracy": np.where(yes, chance, 1 - chance),
        "brier": chance * (1 - p) ** 2 + (1 - chance) * p**2,
    }


def robust_records(tried, predictions, estimates, at, where, design):
    """Doubly robust rate of the target by each method, and accuracy and Brier score of each.

    Losses are expected by the chances of the method that is given away, for all methods alike.

    Parameters
    ----------
    tried : counterweight.evaluation.unseen.tried.Tried
    predictions : dict of str to array (M,)
        Out of fold, of the labeled rows.
    estimates : dict of str to array (n,)
        Of all rows of the table.
    at : str
        The method that is given away.
    where : array (T,)
        Places of the rows of the target.
    design : array (T,)
        Their design weights.

    Returns
    -------
    list of dict
        Metric records; ``part`` is the method.
    """
    made = []
    kind = "rate" if tried.binary else "mean"
    chance, chances = predictions[at], estimates[at][where]
    for name, p in predictions.items():
        of_target = estimates[name][where]
        known = {kind: doubly_robust_mean(tried.y, p, tried.weight, of_target, design)}
        if tried.binary:
            # With certainty for the chance, these are the losses that were seen.
            seen, expected = expected_losses(p, tried.y), expected_losses(p, chance)
            ahead = expected_losses(of_target, chances)
            for loss, values in seen.items():
                known[loss] = doubly_robust_mean(
                    values, expected[loss], tried.weight, ahead[loss], design
                )
        made += [
            {
                "metric": f"{metric}_doubly_robust",
                "part": name,
                "value": value,
                "standard_error": error,
                "rows": len(where),
            }
            for metric, (value, error) in known.items()
        ]
    return made
