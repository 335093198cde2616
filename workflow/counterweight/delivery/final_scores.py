"""What a study of a table with blanks delivers: the method chosen, its band, its support."""

import functools
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import ndtri

from counterweight.delivery.saved_scores import CalibrationBand, HiddenRows, SavedScores
from counterweight.errors import in_figures, listed
from counterweight.evaluation.cross_validation import beside_parts, better, losses, robust_records
from counterweight.evaluation.hidden_labels import LOOKED_ROWS, TargetRows, sensitivity
from counterweight.evaluation.unlabeled_quality import unlabeled_records
from counterweight.labeling.column_statistics import stood_for
from counterweight.labeling.missing_outcomes import BlankData, OutOfFold, time_of
from counterweight.labeling.outcome_rules import classes_as_given, value_in_words
from counterweight.models.score_models import (
    CombinedModel,
    EncodedModel,
    InTime,
    digits_for,
    scores_of,
)
from counterweight.numerics.estimate import Estimate, around, mean_of_some, variance_of_block
from counterweight.numerics.linear import FOLD_ROWS, averaged, centred, factor_to, row_blocks
from counterweight.plan.components import configured, reference
from counterweight.tables.parquet import joined, read_columns, read_models, read_table
from counterweight.tables.study_data import generator
from counterweight.weighting.importance_weights import Rows, effective_sample_size
from counterweight.weighting.no_outcomes import ends_of, identified_records
from counterweight.weighting.overlap import Support, overlap

#: Ends of an interval, variables of its records.
ENDS = ("low", "high")
#: Share in a combination below which a part is not named.
SHOWN = 0.005


def chosen_method(tested, methods, asked=None):
    """The method to deliver, and why, in sentences.

    `asked` is the one that the config names; else what combines the others (``stacked``); where
    there is neither, the first method unless another one has a smaller cross-validated loss, on
    rows weighted to the target, by a standard error or more. `methods` have ``model``, ``options``
    and ``label``, in the order of ``tested.draws``.
    """
    names = list(methods)
    if asked:
        return asked, [f"{methods[asked]['label']} was asked for."]
    combined = next((name for name in names if methods[name]["model"] == "stacked"), None)
    if combined:
        labels = {name: told["label"] for name, told in methods.items()}
        return combined, beside_parts(tested, labels, combined)
    kind, called = ("binary", "log loss") if tested.binary else ("number", "mean squared error")
    loss = [np.mean([losses(tested.y, p, kind) for p in drawn], axis=0) for drawn in tested.draws]
    best, why = 0, []
    for at, name in enumerate(names[1:], 1):
        comparison = better(loss[at], loss[best], tested.weight, tested.group)
        why.append(
            comparison.sentence(methods[name]["label"], methods[names[best]]["label"], called)
        )
        best = at if comparison.clear else best
    return names[best], why


@dataclass
class Fitted:
    """What a study delivers before anything is told of it: the method, its model and band.

    `held_out` (M,) are its predictions of tested rows by fits that have not seen them, `why` the
    sentences on how it was chosen. All is as told of a new row; `hidden` is the same as told of
    rows of the table without an outcome, where selection goes by the outcome: else it is itself.
    """

    data: BlankData
    tested: OutOfFold
    answers: object
    name: str
    why: list
    model: object
    held_out: np.ndarray
    band: CalibrationBand
    _hidden: object = None

    @property
    def hidden(self):
        return self._hidden or self

    @classmethod
    def of(cls, job):
        """By the files and settings of a job."""
        given, paths = job.given, job.input
        data = BlankData.read(paths.features, paths.columns, paths.labels, given["max_levels"])
        apart, target = given.get("apart", False), given["target"]
        tested = OutOfFold.read(paths.labels, paths.weights, paths.predictions, apart)
        chosen = chosen_method(tested, given["methods"], given["chosen"])
        told, hidden = tested.apart() if apart else (tested, None)
        answers = _Answers(data, told, given["methods"], paths.models, target)
        if not apart:
            return cls._told(data, tested, answers, *chosen)
        hidden = cls._told(data, hidden, answers.by(hidden), *chosen)
        return cls._told(data, tested, answers, *chosen, hidden)

    @classmethod
    def _told(cls, data, tested, answers, name, why, hidden=None):
        """With the model and band of the method by `answers`."""
        model, held_out = answers.model(name), answers.out_of_fold(name)
        kind = "binary" if data.binary else "amount" if tested.amounts else "number"
        band = CalibrationBand(kind, most=tested.most).fit(tested.y, held_out, tested.weight)
        weight = answers.tested.to_hidden(answers.target)
        if by_block := variance_of_block(data, tested, tested.y - held_out, weight):
            band.fit_blocks(held_out, weight, *by_block[1:])
        return cls(data, tested, answers, name, why, model, held_out, band, hidden)

    @property
    def told(self):
        """Estimates of all rows as they are delivered before a tilt, (n,)."""
        p = self.answers.of(self.name)
        return np.clip(p, *self.band.interval(p, contain=False))


def final_scores(job, tilted=None, elsewhere=None, collected=None):
    """The final model of a study, the scores of every row in a data frame, and records of both.

    Reads features, labels, weights, out-of-fold predictions and the models fitted on all labeled
    rows; never what is hidden. `tilted` is `counterweight.models.score_tilt.fitted_tilt` of a study
    with a tilt, `elsewhere` `counterweight.weighting.to_target.mean_elsewhere` of one for
    others than the rows of its table; `collected` the class
    `counterweight.delivery.collected_answers.CollectedAnswers` of one with labels bought by design,
    which then have the last word.
    """
    given, paths = job.given, job.input
    fit, names = Fitted.of(job), list(given["methods"])
    fit = fit.hidden if collected else fit  # what labels of rows without an outcome put right
    by_weights = _by_weights(given, fit)  # before all that is told of the fit, which it may move
    data, tested, answers, name, why = fit.data, fit.tested, fit.answers, fit.name, fit.why
    model, held_out, band = fit.model, fit.held_out, fit.band
    weight = read_columns(paths.weights)["weight"] if paths.weights else data.weight[data.labeled]
    chance = read_columns(paths.selection[0])["p"] if paths.selection else None
    support = _support(given, data, weight, chance)
    frame = read_table(paths.table)
    facts = _facts(given, data, tested, frame, name, model, why)
    if data.later is not None:
        time = time_of(frame, {"time": given["time"]}, data.labeled)
        answers.of_table(name).tell(facts, data, time, chance)
    if not collected:  # of many rows all columns are as much again as what is made of them
        frame = frame[[given["id"]] if given["id"] else []]
    saved = SavedScores(facts, data.encoder, model, band, support, {})
    if fit.hidden is not fit:
        by = fit.hidden.model
        saved.hidden = HiddenRows(by.factors, by.constant, fit.hidden.band)
    if chance is not None and support.least_chance_ > 0:
        # From as many rows as the chances are learned from, the first by content.
        some = np.sort(data.in_order(np.arange(len(data.rows)))[:FOLD_ROWS])
        facts["chance"], saved.chance = EncodedModel.nearest(
            data.encoded.take(some), data.labeled[some].astype(float), chance[some]
        )
    if tilted:
        saved.tilt, facts["tilt"], facts["rests_on"] = tilted(
            given["tilt"],
            data,
            tested,
            held_out,
            fit.hidden.told[~data.labeled],
            target=given["target"],
            event=f"{facts['outcome']} = {value_in_words(facts)}" if facts["names"] else "1",
            selection=chance,
        )
        facts["assumes"] = facts["tilt"]["assumes"]
    if collected:
        collected, first = (collected(job, fit, frame), _scores(saved, fit, frame, chance))
        at_random, _ = _means(saved, fit, first, given, by_weights)
        saved.tilt, facts["tilt"] = collected.tilt(chance, given["target"] == "general")
        facts |= {"collected": collected.facts(), "rests_on": [], "assumes": None}
    for sentence in (*facts["why"], *(facts["rests_on"] if tilted else ())):
        job.log.info(sentence)
    scores = _scores(saved, fit, frame, chance)
    if collected:
        collected.fill(scores, saved.classes_ if saved.binary else None)
    elif not (tilted or elsewhere):  # while the models have the scores of all rows
        estimates = {one: answers.of(one) for one in names}
        ahead = {one: fit.hidden.answers.of(one)[~data.labeled] for one in names}
    further = []
    if elsewhere:
        *known, told, far = elsewhere(data, tested, held_out, saved, paths.table, given)
        facts |= told | {"assumes": _of(facts["assumes"], told["for"])}
        for sentence in told["target"]:
            job.log.info(sentence)
        rows, mean, worst = TargetRows.elsewhere(data, tested), _plain(*known, tested.bounds), None
        if far:
            *apart, of_some = far
            ends = ends_of(saved, *apart, (tested.y, tested.y - held_out, tested.weight))
            metric = "target_rate" if data.binary else "target_mean"
            further, worst = identified_records(ends, 0.0, 1.0, of_some, metric)
        means = [("", replace(mean, low=worst[0], high=worst[1]) if worst else mean)]
    elif collected:
        rows, means = None, collected.means()
        further = collected.records(at_random)
    else:
        rows = TargetRows.here(data, tested, given["target"])
        means, further = _means(saved, fit, scores, given, by_weights)
    records = _records(job, data, name, scores, weight, means, chance)
    records += [
        {"repeat": 0, "target": given["target"], "rows": len(scores)} | one for one in further
    ]
    if collected:
        return saved, scores, records
    if not (tilted or elsewhere):
        predictions = {one: answers.out_of_fold(one) for one in names}
        made = robust_records(tested, predictions, estimates, rows.where, rows.weight)
        blank = ~data.labeled
        if data.binary and blank.any():
            rest = {"y": tested.y, "weight": tested.to_hidden(given["target"])}
            rest |= {"design": tested.design, "group": tested.group}
            rest |= {"design_target": data.weight[blank]}
            predictions = {one: fit.hidden.answers.out_of_fold(one) for one in names}
            made += unlabeled_records(rest, predictions, ahead, name)
        records += [{"repeat": 0, "target": given["target"]} | record for record in made]
    headline = means[0][1]
    ends = headline, means[-1][1], bool(elsewhere)
    excluded = (given.get("influence") or {"options": {}})["options"].get("exclusion")
    tilted = saved.tilt, given["tilt"]
    both = answers, fit.hidden.answers
    swept = sensitivity(data, rows, name, both, *tilted, *ends, excluded=excluded)
    place = {"repeat": 0, "target": given["target"], "rows": headline.rows}
    return saved, scores, records + [place | record for record in swept]


def _support(given, data, weight, chance):
    """What rows are like labeled ones."""
    category = {fact.column: at for at, fact in enumerate(data.encoder.categories_)}
    ordered = data.in_order(np.flatnonzero(data.labeled))
    told = {}
    if not data.labeled.all():
        told["unlabeled"] = data.taken(np.flatnonzero(~data.labeled))
        if chance is not None:
            told["chance"] = chance[data.labeled][ordered], chance[~data.labeled]
    if (data.group >= 0).all():
        told["group"] = data.group[data.labeled][ordered], data.group[~data.labeled]
    return Support().fit(
        data.taken(np.flatnonzero(data.labeled)[ordered]),
        weight[ordered],
        **told,
        rng=generator(given["seed"], given["stream"], 0, "support"),
        onehot=np.array([category.get(one.column, -1) for one in data.encoder.features_]),
        names=data.names,
    )


def _facts(given, data, tested, frame, name, model, why):
    """What is kept with the model: names of the outcome's classes, columns, the method."""
    column, asked = (given["outcome"]["options"][key] for key in ("column", "most"))
    # Of all rows: a code of unknown is in none that has an outcome.
    y, _, words = configured("outcome", given["outcome"])(frame, data.types)
    seen, y = frame[data.labeled], y[data.labeled]
    told = data.types.get(column), data.forms.get(column)
    methods, method = given["methods"], given["methods"][name]
    # Of outcomes that are all known nothing is taken for granted.
    assumes = None if data.labeled.all() and not given.get("elsewhere") else method["assumes"]
    parts = [methods[part] for part in _parts(methods, name)]
    shares = [
        [part["label"], float(share)] for part, share in zip(parts, model.shares, strict=True)
    ]
    if sum(share >= SHOWN for _, share in shares) == 1 < len(shares):
        why = []  # that it is behind a part of it, which it then may be itself
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
        "combined": [[part["model"], part["options"]] for part in parts],
        "parts": shares,
        "answers for": given["target"],
        "designed": stood_for(data.encoded, data.weight),
        "method": method["label"],
        "weighted": any(
            part["weights"] and share > 0 for part, (_, share) in zip(parts, shares, strict=True)
        ),
        "why": _why(shares, tested) + why + tested.about_most(asked) + _sampled(data),
        "range": [0.0, 1.0] if words else [float(tested.y.min()), float(tested.y.max())],
        "threshold": 0.5,
        "digits": 2 if data.binary else digits_for(tested.y),
        "known": int(data.labeled.sum()),
        "rests_on": [assumes["rests"]] if assumes else [],
        "assumes": assumes,
        "tilt": None,
    }


def _parts(methods, name):
    """Methods that one is combined of; itself where it is none such."""
    method = methods[name]
    return method["options"]["parts"] if method["model"] == "stacked" else [name]


def _why(shares, tested):
    """What is delivered, in a sentence; nothing of a single method."""
    if len(shares) < 2:
        return []
    used = [(label, share) for label, share in shares if share >= SHOWN]
    told = [f"{label} {100 * share:.0f} %" for label, share in sorted(used, key=lambda x: -x[1])]
    n = len(tested.draws[0])
    unseen = f"on labeled rows that they have not seen ({n} draw{'s' * (n > 1)} of the folds)"
    if not told:
        return [f"No fit tells more than the mean {unseen}: each row is answered by the mean."]
    if len(told) == 1:
        return [f"Delivered is {used[0][0]}: no share of another fit tells more {unseen}."]
    return [f"Delivered is a combination of the fits, by shares chosen {unseen}: {listed(told)}."]


def _sampled(data):
    """What learned from a part of the rows only, in a sentence; nothing of tables of usual size."""
    rows, labeled = len(data.rows), int(data.labeled.sum())
    if rows <= FOLD_ROWS:
        return []
    told = f"The model of who is labeled learned from {FOLD_ROWS:,} of {rows:,} rows, drawn"
    if labeled > FOLD_ROWS:
        told += (
            f", boosted trees and what is tried on a fold from as many of {labeled:,} labeled, "
            "settings are chosen by fewer; predictions are judged, and the answer is put right, by "
            "all of them"
        )
    return [f"{told}; how strong columns are is told by {LOOKED_ROWS:,} rows."]


class _Answers:
    """Estimates of all rows by each method, of rows that it was tested on without them.

    Models are combined, and moved to the mean of those that they are told of, by the weights that
    `tested.to_hidden` has.
    """

    def __init__(self, data, tested, methods, models, target):
        self.data, self.tested, self.target, self.whom = data, tested, target, target
        self.methods, self.paths = methods, dict(zip(methods, models, strict=True))
        self.models, self.parts, self.made, self.held_out, self.in_time = {}, {}, {}, {}, {}

    def by(self, hidden):
        """The same fits as `OutOfFold` tells them of rows without an outcome."""
        made = _Answers(self.data, hidden, self.methods, self.paths.values(), self.target)
        made.parts, made.whom = self.parts, "unlabeled"
        return made

    def model(self, name):
        """The fit of a method to all labeled rows, a `CombinedModel`."""
        if name in self.models:
            return self.models[name]
        parts = [self._part(part) for part in _parts(self.methods, name)]
        if self.methods[name]["model"] == "stacked":
            told = read_models(self.paths[name])[0, self.whom]
            factors, constant = np.ravel(told["factors"]), float(told["constant"])
        else:
            # Moved to the mean of the target, as what is combined is.
            p = self.tested.predictions[list(self.methods).index(name)]
            weight, kind = self.tested.to_hidden(self.target), self.tested.kind
            told = scores_of(p, *kind), self.tested.y, weight
            factors, constant = np.ones(1), 0.0
            if self.tested.amounts:
                factors = factors * factor_to(*told, self.tested.most)
            else:
                constant = centred(*told, self.data.binary)
        self.models[name] = CombinedModel(parts, factors, constant, *self.tested.kind[1:])
        return self.models[name]

    def of_table(self, name):
        """The model of a method for rows of the table: that for new ones, but see `InTime`."""
        data, model = self.data, self.model(name)
        if data.later is None:
            return model
        if name not in self.in_time:
            weight = self.tested.to_hidden(self.target, of_labeled=True)
            seen = data.encoded.take(data.labeled), data.y[data.labeled], weight
            self.in_time[name] = InTime(model, model.level_of(*seen), data.rows[data.later])
        return self.in_time[name]

    @functools.cached_property
    def _centre(self):
        """Means of the features of labeled rows."""
        return averaged(self.data.taken(np.flatnonzero(self.data.labeled)))

    def _part(self, name):
        """The fit of a method to all labeled rows as it is."""
        if name not in self.parts:
            method, arrays = self.methods[name], read_models(self.paths[name])[0, self.target]
            told = method["model"], method["options"], self.target
            told = *told, arrays | {"centre": self._centre}, self.data.binary
            self.parts[name] = EncodedModel.from_arrays(*told)
        return self.parts[name]

    def out_of_fold(self, name):
        """Predictions (M,) of tested rows by fits that have not seen them, over all draws."""
        if name not in self.held_out:
            p = self.tested.predictions[list(self.methods).index(name)]
            if self.methods[name]["model"] != "stacked":
                model = self.model(name)
                score = scores_of(p, *self.tested.kind)
                p = model.answers(model.factors[0] * score + model.constant)
            self.held_out[name] = p
        return self.held_out[name]

    def of(self, name):
        """Those of one method, as among labeled rows, (n,)."""
        if name not in self.made:
            made = self.of_table(name).predict(self.data.encoded)
            made[np.searchsorted(self.data.rows, self.tested.row)] = self.out_of_fold(name)
            made.flags.writeable, self.made[name] = False, made  # who changes them takes a copy
        return self.made[name]


class _CrossFitted:
    """Chances (n,) of an outcome by fits that have not seen the rows, in place of a model's."""

    def __init__(self, rows, chance):
        self.rows, self.chance = rows, chance

    def predict(self, rows):
        """Of encoded rows of the table."""
        return self.chance[np.searchsorted(self.rows, rows.row)]


def _scores(saved, fit, frame, chance):
    """Answers for the rows of the table: known outcomes stand for themselves.

    Of the others it is known that they have none, so that a tilt moves them by all of it; their
    `chance` to have one is by fits that have not seen them.
    """
    data, tested, hidden = fit.data, fit.tested, fit.hidden
    tilt = saved.tilt and replace(saved.tilt, chance=None)
    seen = saved.chance and _CrossFitted(data.rows, chance)
    told, known = {"model": hidden.answers.of_table(fit.name), "band": hidden.band}, data.labeled
    asked = replace(saved, tilt=tilt, chance=seen, known=data.rows[known], **told)
    # What is told of each row has its score by each part, which other methods are told by, too.
    with saved.model.remembering(data.encoded):
        made = [asked.told(data.encoded[part]) for part in row_blocks(len(data.rows))]
    scores = pd.DataFrame(joined(made))
    for column in ("estimate", "low", "high", *(("at_random",) if tilt else ())):
        scores.loc[known, column] = data.y[known]
    if saved.binary:
        scores.loc[known, "decision"] = saved.classes_[data.y[known].astype(int)]
    scores.loc[known, "supported"] = True
    scores.loc[known, "reason"] = ""
    scores["cross_validated"] = np.nan
    places = np.searchsorted(data.rows, tested.row)
    scores.loc[places, "cross_validated"] = fit.held_out
    if hidden is not fit:  # of rows without an outcome, which no fit has seen, as new ones are told
        scores.loc[~known, "cross_validated"] = fit.told[~known]
    person = saved.facts["id"]
    if person:
        scores.insert(0, person, frame[person].to_numpy())
    else:
        scores.insert(0, "row", data.rows)
    scores["labeled"] = known
    return scores


def _plain(value, error, rows, bounds):
    """An `Estimate` with a normal interval, on a scale on which it keeps the bounds."""
    value = float(np.clip(value, *bounds))
    return Estimate(value, error, *around(value, 1.959964 * error, bounds), rows, np.nan, np.nan)


def _of(assumes, whom):
    """What answers rest on, with those that they are for."""
    return assumes and {key: text.replace("{whom}", whom) for key, text in assumes.items()}


def _by_weights(given, fit):
    """Standard error of the mean over hidden rows where weights have an error of their own.

    None elsewhere. A weighting that knows this mean without weights has the model moved to it, but
    with a time, by which rows have levels of their own.
    """
    told, data, tested, apart = given.get("influence"), fit.data, fit.tested, fit.hidden
    if told is None or data.labeled.all():
        return None
    residual = np.zeros(len(data.rows))
    residual[np.searchsorted(data.rows, tested.row)] = tested.y - apart.held_out
    seen, blank = (np.flatnonzero(rows) for rows in (data.labeled, ~data.labeled))
    seen, blank = (places[data.in_order(places)] for places in (seen, blank))
    of_all = np.unique(data.group[np.r_[seen, blank]], return_inverse=True)[1]
    groups = None if tested.group is None else of_all
    rows = Rows(data.X[seen], data.y[seen], data.X[blank], names=tuple(data.names), group=groups)
    options, hidden = told["options"], (data.encoded.take(blank), data.weight[blank])
    knows = "mean" in told and data.later is None
    own = reference(told["mean"])(rows, hidden[1], **options) if knows else None
    if own is None or (tested.amounts and own[0] <= 0):  # a line knows no least amount
        parts = reference(told["function"])(rows, residual[seen], data.weight[seen], **options)
    else:
        mean, *parts = own
        unmoved = np.average(apart.model.predict(hidden[0]), weights=hidden[1])
        fit.why.append(
            f"Estimates are moved so that those of rows without an outcome are {in_figures(mean)} "
            "on average, by the model of selection itself; by weights alone it would be "
            f"{in_figures(unmoved)}."
        )
        apart.model.move_to(mean, *hidden)
        if apart is not fit:  # new rows have the mean of all rows of the table
            known = data.weight * data.labeled
            of_all = known @ np.where(data.labeled, data.y, 0.0) + mean * hidden[1].sum()
            fit.model.move_to(of_all / data.weight.sum(), data.encoded, data.weight)
    if groups is not None and len(parts) == 2:
        parts = [np.bincount(groups, np.concatenate(parts))]
    return float(np.sqrt(sum(part @ part for part in parts)))


def _like_group(group, hidden, residual):
    """Factor (N,) by which the chance of hidden rows' own outcomes counts where groups share it.

    Outcomes of a group go together as residuals of labeled rows do (intraclass correlation): as
    one outcome where no group has two labeled rows.
    """
    if group is None:
        return 1.0
    seen = np.unique(group, return_inverse=True)[1]
    _, there, size = np.unique(hidden, return_inverse=True, return_counts=True)
    pairs, own = np.square(np.bincount(seen)).sum() - len(seen), residual @ residual
    alike = np.square(np.bincount(seen, residual)).sum() - own
    return 1 + (size[there] - 1) * np.clip(alike / pairs / own * len(seen) if pairs else 1, 0, 1)


def _means(saved, fit, scores, given, by_weights):
    """The mean outcome of those that answers are for, of those without an outcome, and its errors.

    Pairs of a part of the records and an `Estimate`: "" is of the target, ``unlabeled`` of the rows
    without an outcome. Both are means of the column ``estimate`` of the scores; where too many of
    those that they are for are unlike all labeled rows, ends are those of any outcome. Then records
    of what rests on data.
    """
    data, tested, told_apart = fit.data, fit.tested, fit.hidden
    blank, design, tilt = ~data.labeled, data.weight, saved.facts["tilt"]
    share = design[blank].sum() / design.sum()
    estimate = scores["estimate"].to_numpy()
    mean = float(np.average(estimate, weights=design))
    rows = len(estimate)
    if not blank.any():
        error = 0.0
        if given.get("thinned"):
            # A row of outcome 0 was kept by a draw of its own, and stands for those that were not.
            error = float(np.sqrt(design * (design - 1) @ (estimate - mean) ** 2) / design.sum())
        ends = around(mean, ndtri(0.975) * error, tested.bounds) if error else (mean, mean)
        return [("", Estimate(mean, error, *map(float, ends), rows, float(rows), 1.0))], []
    expected, residual = estimate[blank], tested.y - told_apart.held_out
    weight = tested.to_hidden(given["target"])
    noise = expected * (1 - expected)
    if not data.binary:
        noise = np.average(residual**2, weights=weight)
    noise = noise * _like_group(tested.group, data.group[blank], residual)
    told = residual, weight, expected, design[blank], noise, tested.group
    by_block = variance_of_block(data, tested, residual, weight)
    of_some = mean_of_some(*told, tested.bounds, by_weights, by_block)
    hidden, error, low, high = of_some(np.ones(len(expected), bool))
    if tilt is not None:
        error, low, high = (tilt[f"rate_{part}"] for part in ("error", *ENDS))
    on, hidden_rows = scores["supported"].to_numpy()[blank], data.encoded.take(blank)
    seen = tested.y, residual, weight
    by = replace(saved, model=told_apart.model)
    ends = ends_of(by, hidden_rows.take(~on), expected, on, design[blank], seen)
    metric = "target_rate" if data.binary else "target_mean"
    size = int(blank.sum()), effective_sample_size(weight), float(weight.max())
    exact = tilt is not None and tilt["by"] == "rate"
    of_blank, worst = identified_records(ends, 0.0, 1.0, of_some, metric, exact)
    of_blank.append(
        {"metric": "supported_share", "part": "unlabeled", "value": of_blank[0]["value"]}
    )
    if given["target"] == "unlabeled":
        told = Estimate(hidden, error, *(worst or (low, high)), *size)
        return [("", told), ("unlabeled", told)], of_blank
    known = mean - share * hidden
    further, of_all = identified_records(ends, known, share, of_some, metric, exact)
    own = of_all or (known + share * low, known + share * high)
    everyone = Estimate(mean, share * error, *own, rows, *size[1:])
    # Both have bounds, or both have intervals: as enough of everyone rests on data.
    told = Estimate(hidden, error, *(worst if of_all else (low, high)), *size)
    named = [
        one | {"part": f"unlabeled {one['part']}"}
        for one in of_blank
        if one["metric"] == "target_bounds"
    ]
    return [("", everyone), ("unlabeled", told)], further + named + of_blank[-1:]


def _records(job, data, name, scores, weight, means, chance):
    given, headline = job.given, means[0][1]
    outside, rows = ~scores["supported"].to_numpy(), headline.rows
    known = {
        "outside": outside[~data.labeled].mean() if (~data.labeled).any() else 0.0,
        "rows_outside": float(outside[~data.labeled].sum()),
        "effective_rows": effective_sample_size(weight),
        "design_effect": len(weight) / effective_sample_size(weight),
    }
    if chance is not None and not data.labeled.all():
        known["no_overlap"] = overlap(chance, data.labeled, data.weight)["below"]
    records = [
        {"metric": metric, "value": float(value), "rows": rows} for metric, value in known.items()
    ]
    for part, found in means:
        place = {"metric": "target_rate" if data.binary else "target_mean", "part": part}
        place["rows"] = found.rows
        records.append(place | {"value": found.value, "standard_error": found.standard_error})
        records += [place | {"variable": end, "value": getattr(found, end)} for end in ENDS]
    records.append({"metric": "delivered", "part": name, "value": 1.0, "rows": rows})
    reasons = scores.loc[outside & ~data.labeled, "reason"].value_counts().head(5)
    records += [
        {"metric": "rows_outside_by", "part": str(reason), "value": float(count), "rows": rows}
        for reason, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    job.log.info(
        "%s is delivered; %d of %d rows without an outcome resemble nobody with one",
        given["methods"][name]["label"],
        int(known["rows_outside"]),
        int((~data.labeled).sum()),
    )
    return [{"repeat": 0, "target": given["target"]} | record for record in records]
