"""Apply a filter to the rows of a study in one repeat, and train on whom it accepts."""

import logging

import numpy as np
import pyarrow as pa

from counterweight.errors import CounterweightError, listed
from counterweight.files.seeds import generator
from counterweight.files.settings import numbers_of
from counterweight.files.tables import blocks
from counterweight.models.filters.balanced_filter import EVERYONE
from counterweight.numerics.groups import group_names, memberships
from counterweight.plan.components import load

log = logging.getLogger("counterweight")

#: Columns of a table of predictions, in order.
PREDICTIONS = (("repeat", "int16"), ("row", "int32"), ("setting", "string"), ("p", "float64"))


def filter_rows(data, repeat):
    """Rows of a repeat: ``X, row, train, y`` in the order of its labels.

    ``y`` is NaN where no outcome is seen.

    Parameters
    ----------
    data : StudyData
        Labels are ``repeat, row, role, group_..., y_general``; groups and outcomes of test rows
        are missing.
    repeat : int

    Raises
    ------
    CounterweightError
        When a row has no features.
    """
    labels, at = data.labels[repeat], data.rows_of(repeat)
    return {
        "X": data.X[at],
        "row": labels["row"],
        "train": labels["role"] == "train",
        "y": np.asarray(labels["y_general"], dtype=float),
    }


def true_groups(data, repeat):
    """Groups of all rows of a repeat by column, and outcomes: from the truth."""
    truth = data.truth[repeat]
    if not np.array_equal(truth["row"], data.labels[repeat]["row"]):
        raise CounterweightError(
            f"The truth of repeat {repeat} is of other rows than its labels: delete the "
            "results of the study and run again."
        )
    groups = [truth[data.GROUP + name].astype(object) for name in data.group_columns]
    return groups, np.asarray(truth["y_general"], dtype=float)


def proxy_rows(proxy, X, Z):
    """What a proxy goes by: features `X`, or memberships `Z` where it sees the groups (a bound)."""
    return Z if getattr(proxy, "sees_groups", False) else X


def acceptances(weights):
    """Acceptance of the leaves from the columns of a table of weights.

    Parameters
    ----------
    weights : dict of str to array
        ``repeat, setting, leaf, acceptance``, the rows of a repeat together.

    Returns
    -------
    dict of int to dict of str to ndarray (L,)
        By repeat and setting, in the order of the table; leaves ascending.
    """
    accepted = {}
    for part in blocks(weights, "repeat", "setting"):
        order = np.argsort(weights["leaf"][part], kind="stable")
        own = accepted.setdefault(int(weights["repeat"][part][0]), {})
        own[str(weights["setting"][part][0])] = weights["acceptance"][part][order]
    return accepted


def noise_of(setting):
    """The eta of a setting ``eta=...``, the noise of a proxy's only setting; None for others."""
    return numbers_of(setting).get("eta")


def filtered(proxy, X, acceptance):
    """Leaves of the rows at every setting of a filter.

    A setting ``eta=...`` is the proxy's only setting with noise (A.1.1): its memberships are
    (1 - eta) M + eta / L. They are not formed; what follows from M follows from eta too.

    Parameters
    ----------
    proxy : fitted proxy
        With ``leaves(X)``.
    X : array (n, d)
    acceptance : mapping of str to array (L,)

    Yields
    ------
    setting : str
    memberships : ndarray (n, L)
        Of the proxy itself, without noise.
    eta : float
        0 for settings without noise.
    rho : ndarray (L,)

    Raises
    ------
    CounterweightError
        When acceptance and proxy do not belong together.
    """
    done = set()
    for name, M in proxy.leaves(X):
        for setting, rho in acceptance.items():
            eta = noise_of(setting)
            noisy = name == "" and eta is not None
            if setting != name and not noisy:
                continue
            if len(rho) != M.shape[1]:
                raise CounterweightError(
                    f"The weights hold {len(rho)} leaves at {setting or 'the only setting'} and "
                    f"the proxy {M.shape[1]}: delete the weights of the study and run again."
                )
            done.add(setting)
            yield setting, M, eta if noisy else 0.0, rho
    absent = [setting for setting in acceptance if setting not in done]
    if absent:
        raise CounterweightError(
            f"The weights hold the setting {listed(absent)}, which the proxy has not: delete the "
            "weights of the study and run again."
        )


def accept_probability(memberships, eta, rho):
    """Probability of acceptance of each row, (1 - eta) M rho + eta mean(rho)."""
    return (1 - eta) * (memberships @ rho) + eta * rho.mean()


def coins(seed, study, repeat, rows):
    """One uniform number for each row of a repeat, shared by all methods and settings.

    A row is accepted where its number is below its probability. So the samples of two
    methods differ only where their probabilities do.
    """
    return generator(seed, study, repeat, "accept").random(rows)


def train_filter_repeat(data, method, repeat, *, proxy, acceptance, seed, study):
    """Draw whom a filter accepts and train a classifier on them, at several settings.

    Parameters
    ----------
    data : StudyData
    method : dict
        ``model`` and ``options``.
    repeat : int
    proxy : fitted proxy
    acceptance : mapping of str to array (L,)
        By setting, of this repeat.
    seed : int
    study : str
        Name that the random streams go by.

    Returns
    -------
    arrays : dict of (str, str) to number or array
        The fitted classifiers, see `BalancedFilter.to_arrays`.
    predictions : pyarrow.Table
        Columns of `PREDICTIONS`: the test rows, by setting; ``everyone`` is the classifier of
        all training rows.
    """
    rows = filter_rows(data, repeat)
    train = rows["train"]
    model = load("model", method["model"])(**method["options"])
    coin = coins(seed, study, repeat, len(train))[train]
    seeing = getattr(model, "sees_groups", False)
    Z = None
    if seeing or getattr(proxy, "sees_groups", False):
        words = [data.labels[repeat][data.GROUP + name][train] for name in data.group_columns]
        Z = memberships(words, group_names(words, data.group_columns)[0])
    asked = {name: acceptance[name] for name in model.asked(acceptance)}
    if model.classifier != "none" and not asked:
        log.warning(
            "Repeat %d: none of the settings %s is on the grid of the filter (%s), so no "
            "classifier is trained on accepted rows: change the settings of the model.",
            repeat,
            listed(f"{value:g}" for value in model.settings),
            listed(acceptance, 30),
        )
    chance = {EVERYONE: np.ones(int(train.sum()))}
    told = proxy_rows(proxy, rows["X"][train], Z)
    for setting, M, eta, rho in filtered(_Only(proxy, asked), told, asked):
        chance[setting] = accept_probability(M, eta, rho)
    accepted = {name: coin < chance[name] for name in (EVERYONE, *asked)}
    seen = {}
    if seeing:
        seen = {"chance": chance, "Z": Z, "rng": generator(seed, study, repeat, "seen groups")}
    model.fit(rows["X"][train], rows["y"][train], accepted, **seen)
    if model.missing_:
        log.warning(
            "Repeat %d: the accepted rows have not both outcomes at %s, so no classifier was "
            "trained there.",
            repeat,
            listed(
                f"{name or 'the only setting'} ({model.rows_[name]} rows)"
                for name in model.missing_
            ),
        )
    unfinished = [name for name, done in model.converged_.items() if not done]
    if unfinished:
        log.warning("Repeat %d: the classifier at %s did not converge.", repeat, listed(unfinished))
    said = model.predict(rows["X"][~train])
    tested = rows["row"][~train]
    columns = {
        "repeat": np.full(len(tested) * len(said), repeat),
        "row": np.tile(tested, len(said)),
        "setting": np.repeat(np.array(list(said), dtype=object), len(tested)),
        "p": np.concatenate([*said.values(), np.zeros(0)]),
    }
    table = pa.table(
        {name: pa.array(columns[name], pa.type_for_alias(kind)) for name, kind in PREDICTIONS}
    )
    return model.to_arrays(), table


class _Only:
    """A proxy restricted to some of its settings."""

    def __init__(self, proxy, settings):
        self.proxy = proxy
        self.settings = {name if noise_of(name) is None else "" for name in settings}

    def leaves(self, X):
        for name, M in self.proxy.leaves(X):
            if name in self.settings:
                yield name, M
