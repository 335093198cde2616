"""What a study of a table with blanks delivers: the method chosen, its band, its support."""

import numpy as np
import pandas as pd

from counterweight.delivery.saved_scores import SavedScores
from counterweight.evaluation.cross_validation import (
    OutOfFold,
    better,
    keep_weights,
    losses,
    robust_records,
)
from counterweight.evaluation.hidden_labels import TargetRows, sensitivity_records
from counterweight.labeling.missing_outcomes import BlankData
from counterweight.labeling.outcome_rules import classes_as_given
from counterweight.models.score_models import EncodedModel, digits_for
from counterweight.numerics.bands import CalibrationBand
from counterweight.numerics.estimate import doubly_robust_mean
from counterweight.plan.components import configured
from counterweight.tables.parquet import read_columns, read_models, read_table
from counterweight.tables.study_data import generator
from counterweight.weighting.importance_weights import effective_sample_size
from counterweight.weighting.overlap import Support, overlap

#: What is said of answers without a tilt.
AT_RANDOM = (
    "Labels are taken to be missing at random: rows without an outcome are taken to turn out as "
    "rows with the same features that have one. Nothing in the table can show that they do."
)
#: The same of a target that is not in the table.
ELSEWHERE = (
    "Those that answers are for are taken to turn out as labeled rows with the same features. "
    "Nothing in the table can show that they do."
)


def chosen_method(tested, methods, asked=None):
    """The method to deliver, and why, in sentences.

    The first method without weights is kept unless another one without weights has a smaller
    cross-validated loss, on rows weighted to the target, by a standard error or more. Weights are
    then kept only if they make its loss smaller by as much. `methods` have ``model``, ``weights``
    (bool) and ``label``, in the order of ``tested.predictions``; `asked` is the one that the config
    names.
    """
    names = list(methods)
    if asked:
        return asked, [f"{methods[asked]['label']} was asked for."]
    kind, called = ("binary", "log loss") if tested.binary else ("number", "mean squared error")
    loss = {
        name: losses(tested.y, p, kind) for name, p in zip(names, tested.predictions, strict=True)
    }
    plain = [name for name in names if not methods[name]["weights"]] or names
    best, why = plain[0], []
    for name in plain[1:]:
        comparison = better(loss[name], loss[best], tested.weight, tested.group)
        why.append(comparison.sentence(methods[name]["label"], methods[best]["label"], called))
        if comparison.clear:
            best = name
    weighted = [
        name
        for name in names
        if methods[name]["weights"] and methods[name]["model"] == methods[best]["model"]
    ]
    for name in weighted[:1]:
        kept = keep_weights(loss[name], loss[best], tested.weight, tested.group, called)
        why.append(kept.reason)
        if kept.keep:
            best = name
    return best, why


def final_scores(job, tilted=None, elsewhere=None):
    """The final model of a study, the scores of every row in a data frame, and records of both.

    Reads features, labels, weights, out-of-fold predictions and the models fitted on all labeled
    rows; never what is hidden. `tilted` is `counterweight.models.score_tilt.fitted_tilt` of a study
    with a tilt, `elsewhere` `counterweight.weighting.to_target.mean_elsewhere` of one for
    others than the rows of its table.
    """
    given, paths = job.given, job.input
    data = BlankData.read(paths.features, paths.columns, paths.labels, given["max_levels"])
    tested = OutOfFold.read(paths.labels, paths.weights, paths.predictions)
    methods, names = given["methods"], list(given["methods"])
    name, why = chosen_method(tested, methods, given["chosen"])
    for sentence in why:
        job.log.info(sentence)
    at, method = names.index(name), methods[name]
    answers = _Answers(data, tested, methods, paths.models, given["target"])
    model = answers.model(name)
    kind = "binary" if data.binary else "number"
    band = CalibrationBand(kind).fit(tested.y, tested.predictions[at], tested.weight)
    weight = read_columns(paths.weights)["weight"] if paths.weights else data.weight[data.labeled]
    category = {fact.column: at for at, fact in enumerate(data.encoder.categories_)}
    support = Support().fit(
        data.X[data.labeled],
        weight,
        rng=generator(given["seed"], given["stream"], 0, "support"),
        onehot=np.array([category.get(one.column, -1) for one in data.encoder.features_]),
        names=data.names,
    )
    frame = read_table(paths.table)
    facts = _facts(given, data, tested, frame, method, why)
    words = facts["names"]
    saved = SavedScores(facts, data.encoder, model, band, support, {})
    if tilted:
        saved.tilt, facts["tilt"], facts["rests_on"] = tilted(
            given["tilt"],
            data,
            tested,
            tested.predictions[at],
            answers.of(name)[~data.labeled],
            target=given["target"],
            event=f"{facts['outcome']} = {words[1]}" if words else "1",
            selection=paths.selection[0] if paths.selection else None,
        )
        for sentence in facts["rests_on"]:
            job.log.info(sentence)
    scores = pd.DataFrame(saved.scored(frame))
    if given["id"]:
        scores.insert(0, given["id"], frame[given["id"]].to_numpy())
    else:
        scores.insert(0, "row", data.rows)
    scores["labeled"] = data.labeled
    if elsewhere:
        *known, told = elsewhere(data, tested, tested.predictions[at], saved, paths.table, given)
        facts |= told
        for sentence in told["target"]:
            job.log.info(sentence)
        rows = TargetRows.elsewhere(data, tested)
    else:
        rows = TargetRows.here(data, tested, given["target"])
        known = _mean_here(data, tested, at, rows, answers.of(name), saved.tilt, given["tilt"])
    records = _records(job, data, at, scores, weight, known)
    if not (tilted or elsewhere):
        predictions = dict(zip(names, tested.predictions, strict=True))
        estimates = {one: answers.of(one) for one in names}
        made = robust_records(tested, predictions, estimates, name, rows.where, rows.weight)
        records += [{"repeat": 0, "target": given["target"]} | record for record in made]
    swept = _sensitivity(data, rows, name, answers, saved.tilt, given["tilt"], known[0])
    place = {"repeat": 0, "target": given["target"], "rows": known[2]}
    return saved, scores, records + [place | record for record in swept]


def _facts(given, data, tested, frame, method, why):
    """What is kept with the model: names of the outcome's classes, columns, the method."""
    seen, column = frame[data.labeled], given["outcome"]["options"]["column"]
    y, _, words = configured("outcome", given["outcome"])(seen, data.types)
    told = data.types.get(column), data.forms.get(column)
    assumed = [] if data.labeled.all() else [AT_RANDOM]
    return {
        "study": given["study"],
        "outcome": column,
        "names": list(words),
        "classes": classes_as_given(seen[column], y, words, *told) if words else [],
        "id": given["id"],
        "types": dict(data.encoder.columns_),
        "forms": {name: data.forms[name] for name in data.encoder.columns_ if name in data.forms},
        "model": method["model"],
        "options": method["options"],
        "answers for": given["target"],
        "method": method["label"],
        "weighted": method["weights"],
        "why": why,
        "threshold": 0.5,
        "digits": 2 if data.binary else digits_for(tested.y),
        "rests_on": [ELSEWHERE] if given.get("elsewhere") else assumed,
        "tilt": None,
    }


class _Answers:
    """Estimates of all rows by each method, of rows that it was tested on without them."""

    def __init__(self, data, tested, methods, models, target):
        self.data, self.tested, self.target, self.made = data, tested, target, {}
        self.methods = dict(zip(methods, zip(methods.values(), models, strict=True), strict=True))

    def model(self, name):
        """The fit of a method to all labeled rows."""
        (method, path), target = self.methods[name], self.target
        centre = {"centre": self.data.X[self.data.labeled].mean(axis=0)}
        told = method["model"], method["options"], target, read_models(path)[0, target] | centre
        return EncodedModel.from_arrays(*told, self.data.binary)

    def of(self, name):
        """Those of one method, as among labeled rows, (n,)."""
        if name not in self.made:
            at, made = list(self.methods).index(name), self.model(name).predict(self.data.encoded)
            made[np.searchsorted(self.data.rows, self.tested.row)] = self.tested.predictions[at]
            self.made[name] = made
        return self.made[name]


def _sensitivity(data, rows, name, answers, tilt, asked, estimate):
    """Records of how wrong the answer could be."""
    if not rows.hidden.any():
        return []
    p, centre = answers.of(name), 0.0
    made = {one: answers.of(one) for one in answers.methods} if data.binary else {}
    if tilt is not None:
        p, centre = _calibrated(data, p, tilt, asked), tilt.delta
        made = {one: tilt.moved(data.encoded, q, q, q)[0] for one, q in made.items()}
    return sensitivity_records(
        rows, p, made, name, binary=data.binary, centre=centre, estimate=estimate
    )


def _calibrated(data, p, tilt, asked):
    """Chances as among labeled rows, that a tilt begins from."""
    p = tilt.calibrated(p)
    if "rate" in asked:
        # The rate is given: what labeled rows show must not move it.
        p[data.labeled] = data.y[data.labeled]
    return p


def _mean_here(data, tested, at, rows, estimates, tilt, asked):
    """Mean outcome of a target among the rows of the table, its error, and how many they are."""
    if tilt is None:
        of_target = estimates[rows.where]
        seen = tested.y, tested.predictions[at], tested.weight
        known = doubly_robust_mean(*seen, of_target, rows.weight)
    else:
        known = rows.mean(_calibrated(data, estimates, tilt, asked), centre=tilt.delta).at(0.0)
    return *known, len(rows.where)


def _records(job, data, at, scores, weight, mean):
    given, paths, (rate, error, rows) = job.given, job.input, mean
    outside = ~scores["supported"].to_numpy()
    known = {
        "outside": outside[~data.labeled].mean() if (~data.labeled).any() else 0.0,
        "rows_outside": float(outside[~data.labeled].sum()),
        "effective_rows": effective_sample_size(weight),
        "design_effect": len(weight) / effective_sample_size(weight),
    }
    if paths.selection and not data.labeled.all():
        p = read_columns(paths.selection[0])["p"]
        known["no_overlap"] = overlap(p, data.labeled, data.weight)["below"]
    records = [
        {"metric": metric, "value": float(value), "rows": rows} for metric, value in known.items()
    ]
    records.append(
        {
            "metric": "target_rate" if data.binary else "target_mean",
            "value": rate,
            "standard_error": error,
            "rows": rows,
        }
    )
    records.append(
        {"metric": "delivered", "part": list(given["methods"])[at], "value": 1.0, "rows": rows}
    )
    reasons = scores.loc[outside & ~data.labeled, "reason"].value_counts().head(5)
    records += [
        {"metric": "rows_outside_by", "part": str(reason), "value": float(count), "rows": rows}
        for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    job.log.info(
        "%s is delivered; %d of %d rows without an outcome resemble nobody with one",
        list(given["methods"].values())[at]["label"],
        int(known["rows_outside"]),
        int((~data.labeled).sum()),
    )
    return [{"repeat": 0, "target": given["target"]} | record for record in records]
