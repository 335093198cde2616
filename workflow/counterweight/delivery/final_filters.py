"""The filter that a study gives away: chosen, certified on rows that did neither, or refitted."""

import hmac

import numpy as np

from counterweight.delivery.filter_certificates import (
    certified_setting,
    check_useful,
    describe_held_out,
    published,
    refitted,
    saved_filter,
)
from counterweight.delivery.saved_filters import ACCEPTED, DECIDED
from counterweight.errors import CounterweightError
from counterweight.labeling.columns import forms_of, types_of
from counterweight.labeling.stage import feature_frame
from counterweight.models.filters.balanced_filter import acceptances, filter_rows, true_groups
from counterweight.numerics.groups import group_names, memberships, target_shares
from counterweight.plan.components import load
from counterweight.tables.parquet import read_columns, read_models, read_table
from counterweight.tables.study_data import StudyData, generator

#: Tables of a method that may be given away.
TABLES = ("proxy", "weights", "metrics")
#: Confidence of what a card tells of a filter that is not certified.
LEVEL = 0.95


def final_filter(job, frame, key):
    """The filter of a study, with its card's figures.

    Parameters
    ----------
    job
        Of the stage deliver, as ``counterweight.tasks.filters`` plans it.
    frame : pandas.DataFrame
        The prepared table.
    key : counterweight.delivery.saved_filters.Key

    Returns
    -------
    counterweight.delivery.saved_filters.SavedFilter
        With ``held`` from the rows that neither fitted nor chose it; without where it was
        fitted again on all rows.

    Raises
    ------
    CounterweightError
        When it is to be certified and cannot be, or would accept everybody alike.
    """
    given, chosen = job.given, job.given["filter"]
    repeat, certified = chosen["repeat"], chosen["certified"]
    labels = read_columns(job.input.labels)
    features = read_columns(job.input.features)
    data = StudyData(features, labels, truth=read_columns(job.input.truth))
    rows = filter_rows(data, repeat)
    words, _ = true_groups(data, repeat)
    names, titles = group_names(words, data.group_columns)
    Z, classes = memberships(words, names), [len(block) for block in names]
    held = ~rows["train"]
    rng = generator(given["seed"], given["stream"], repeat, "certify")
    parts = _candidates(job)
    facts = {key: given[key] for key in ("study", "title")} | {
        "repeat": repeat,
        "id": given["person"],
        "key": key.digest,
    }
    level = LEVEL
    if certified:
        level = certified["level"]
        method, setting, certifying, _ = certified_setting(
            {
                name: (
                    load("selector", one["selector"]).from_arrays(one["arrays"], data.names),
                    acceptances(one["weights"])[repeat],
                )
                for name, one in parts.items()
            },
            rows["X"][held],
            Z[held],
            target=target_shares(given["target"], titles, classes),
            classes=classes,
            alpha=certified["alpha"],
            level=level,
            rng=rng,
        )
        facts |= {"setting": setting, "alpha": certified["alpha"], "level": level}
        held = np.flatnonzero(held)[certifying]
    else:
        method, facts["setting"] = chosen["method"], chosen["setting"]
    if given["most_distorted"][method] < 1:
        facts["most_distorted"] = given["most_distorted"][method]
    own = parts[method]
    report = read_table(job.input.columns) if job.input.columns else None
    saved = saved_filter(
        feature_frame(frame, report),
        features,
        labels,
        own["arrays"],
        own["weights"],
        own["metrics"],
        selector=own["selector"],
        recipe=given["recipe"],
        outcome=given["outcome"]["options"].get("column"),
        target=given["target"],
        facts=facts | {"method": method},
    )
    if report is not None:
        types, forms = types_of(report), forms_of(report)
        needed = [name for name in saved.encoder.columns_ if name in types]
        saved.types = {name: (types[name], forms.get(name, {})) for name in needed}
    saved.release = [ACCEPTED, *(name for name in chosen["release"] if name != ACCEPTED)]
    strange = [name for name in saved.release[1:] if name not in {*DECIDED, *frame}]
    if strange:
        raise CounterweightError(
            f"filter.release names {strange[0]!r}, which is neither leaf nor probability nor a "
            "column of the table: leave it out, or correct its name."
        )
    publish = {name: chosen[name] for name in ("epsilon", "least_cell")}
    # The seed is no secret, so the noise is the key's.
    noise = hmac.digest(key.secret, f"published {saved.facts['digest']}".encode(), "sha256")
    noise = np.random.default_rng(int.from_bytes(noise))
    if chosen["refit"]:
        saved = refitted(saved, rows["X"], Z, classes, given, rng)
    check_useful(saved)
    if chosen["refit"]:
        return published(saved, noise, **publish)
    people = frame.set_index("row", drop=False).loc[rows["row"][held]].reset_index(drop=True)
    describe_held_out(saved, people, Z[held], rng, level)
    return published(saved, noise, **publish)


def _candidates(job):
    """Tables of the methods that may be given away, by method; the study's choice first."""
    given, found = job.given, {}
    names = [given["filter"]["method"], *given["among"]]
    for i, name in enumerate(names):
        at = {key: getattr(job.input, key + (f"_{i}" if i else "")) for key in TABLES}
        found[name] = {
            "selector": given["among"][name] if i else given["selector"]["selector"],
            "arrays": read_models(at["proxy"])[given["filter"]["repeat"], ""],
            "weights": read_columns(at["weights"]),
            "metrics": read_columns(at["metrics"]),
        }
    return found


def delivered_records(saved):
    """What was given away, and what rows that neither fitted nor chose it say, as metric records.

    Parameters
    ----------
    saved : SavedFilter

    Returns
    -------
    list of dict
        ``delivered`` (1; the part is the method), ``certified`` (1 or 0) and, of the held-out
        rows, ``disclosivity`` and ``disclosivity_at_most``, ``acceptance_rate``, ``imbalance``,
        ``imbalance_before``, ``distorted``; ``released`` by released column, at most.
    """
    facts, held = saved.facts, saved.held
    place = {"repeat": 0, "target": "test", "setting": facts["setting"]}
    rows = int(held.get(("rows", "value", -1), 0))
    values = {"certified": float("alpha" in facts)}
    if held:
        values |= {
            name: held[name, "value", -1]
            for name in (
                *("disclosivity", "acceptance_rate", "imbalance_before", "imbalance"),
                "distorted",
            )
            if (name, "value", -1) in held
        }
        values["disclosivity_at_most"] = held["disclosivity", "bound", -1]
        values["confidence"] = held["level", "value", -1]
    records = [{"metric": "delivered", "value": 1.0, "part": facts["method"]}]
    records += [{"metric": name, "value": value} for name, value in values.items()]
    records += [
        {"metric": "released", "part": name, "value": held["released", "bound", i]}
        for i, name in enumerate(saved.release)
        if held
    ]
    return [place | {"rows": rows} | record for record in records]
