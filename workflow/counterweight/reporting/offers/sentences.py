"""What studies of offers say, in sentences that are computed."""

import numpy as np

from counterweight.reporting.offers.sheets import (
    OPTIMISM,
    components_of,
    floor_grade,
    has_test_rows,
    knows_truth,
    optimism,
    ratio,
    row_label,
)
from counterweight.reporting.offers.tables import gains, is_oracle, mean_of, rows_of
from counterweight.reporting.page.summaries import small
from counterweight.reporting.page.wording import (
    count,
    listing,
    method_label,
    number,
    percent,
    places_for,
)

_MODEL, _PLAIN = "predictive_choice", ("logitboost", "offer_logistic")
#: Counts of fitted segments that are warnings where they are above 0.
WARNED = (
    ("slopes_at_bound", "with a slope at its bound, since the offer separates the answers"),
    ("monotone_active", "whose curve is held flat, since fewer accept better offers"),
    ("one_answer_segments", "with one kind of answer only"),
    ("covariances_at_floor", "with a variance at its floor"),
)
#: Other counts that must not be hidden.
COUNTED = (
    ("rows_missing", "training rows lack a feature"),
    ("cells_filled", "missing values were filled by the mean, with a mark"),
    ("updates_held", "updates of a segment were held back for lack of rows"),
    ("one_answer_models", "models of one component saw one kind of answer only"),
    ("rows_dropped", "rows of the table were left out"),
    ("values_missing", "off-policy values could not be estimated: no logged offer is near"),
    ("auc_missing", "test parts have one kind of answer, so no AUC"),
    ("regression_missing", "regressions by component could not be made"),
)


def _first(table, model):
    """Id of the first method of a model without the component, or None."""
    for method, part in table.groupby("method", sort=False):
        own = method.partition("-")[0] == model
        if own and not part["oracle"].any() and not (part["status"] == "failed").all():
            return method
    return None


def _parts(table):
    return {(method, way): part for method, way, part in rows_of(table)}


def sentences(table, metrics, settings):
    """What the numbers of a study of offers show, one sentence each.

    Parameters
    ----------
    table : pandas.DataFrame
        From `counterweight.reporting.offers.tables.offer_table`.
    metrics : pandas.DataFrame
        Everything measured in the study.
    settings : dict
        Its part of the plan.
    """
    found = (
        order_sentence(table, metrics, settings),
        floor_sentence(table),
        plain_sentence(table),
        component_sentence(table),
        totals_sentence(table, metrics),
        single_sentence(table, settings),
        *gain_sentences(table),
    )
    return [text for text in found if text]


def order_sentence(table, metrics, settings):
    """Which number of segments was chosen how often, or would have been."""
    method = _first(table, _MODEL)
    own = metrics[(metrics["source"] == method) & metrics["value"].notna()]
    rows = own[own["metric"] == "components_chosen"]
    if method is None or rows.empty:
        return ""
    options = next(one["options"] for one in settings["methods"] if one["id"] == method)
    chosen, text = rows["value"].astype(int), "The number of segments of least description length"
    if (options or {}).get("components"):
        lengths = own[(own["metric"] == "mdl") & own["step"].notna()]
        text = f"The number of segments was set to {options['components']}"
        if lengths.empty:
            return text + "."
        best = lengths.loc[lengths.groupby("repeat")["value"].idxmin(), "step"]
        chosen = best.astype(int)
        text += "; that of least description length up to it"
    counts = chosen.value_counts().sort_index()
    parts = [f"{size} in {times}" for size, times in counts.items()]
    text += f" is {listing(parts)} of {count(int(counts.sum()), 'repeat')}"
    true = len(components_of(table))
    return text + (f"; the data have {true}." if true else ".")


def floor_sentence(table):
    """RMSE of the choice model against that of the true parameters."""
    parts, told = [], False
    for (method, way), part in _parts(table).items():
        above = ratio(table, method, way)
        if not method.startswith(_MODEL) or np.isnan(above):
            continue
        side = "above" if above >= 0 else "below"
        parts.append(
            f"{row_label(part.iloc[0]['label'], way)} {number(mean_of(part, 'rmse'), 3)}, "
            f"{percent(abs(above), 0)} {side} the error of the true parameters"
        )
        grade = floor_grade(above)
        parts[-1] += f" ({grade})" if grade else ""
        told |= not grade
    if not parts:
        return ""
    text = f"RMSE of the predicted chance: {'; '.join(parts)}."
    if told:
        text += (
            " So far below it one can only be where past offers tell the segments: this error is "
            "at past offers and says nothing of others."
        )
    return text


def plain_sentence(table):
    """What logistic regression without segments does here, against the choice model."""
    held = _parts(table)
    model = next(
        (part for (method, way), part in held.items() if method == _MODEL and way == "soft"), None
    )
    if model is None:
        return ""
    for metric, name, places in (("rmse", "RMSE", 3), ("log_loss", "log loss", 4)):
        ours, texts = mean_of(model, metric), []
        for base in _PLAIN:
            method = _first(table, base)
            part = held.get((method, ""))
            value = np.nan if part is None else mean_of(part, metric)
            if np.isnan(value) or np.isnan(ours) or not ours:
                continue
            change = value / ours - 1
            word = "more" if change > 0 else "less"
            texts.append(
                f"{part.iloc[0]['label']} has {name} {number(value, places)}, "
                f"{percent(abs(change), 0)} {word} than the choice model (soft)"
            )
            found = gains(part)
            if not np.isnan([found["revenue_claimed"], found["revenue_true"]]).any():
                claimed, true = (
                    number(100 * found[f"revenue_{which}"], 1, sign=True)
                    for which in ("claimed", "true")
                )
                texts[-1] += f", and its best offers claim {claimed} % and bring {true} % revenue"
        if texts:
            return (
                "What logistic regression, which knows no segments and is one curve in offer and "
                f"features, does here: {'; '.join(texts)}."
            )
    return ""


def component_sentence(table):
    """Whether a logistic regression that is told the component does as badly as in print."""
    components, held = components_of(table), _parts(table)
    if not components:
        return ""
    told = [part for part in held.values() if part["oracle"].any()]
    bases = [part.iloc[0]["method"].partition("-")[0] for part in told]
    oracle = next((told[bases.index(name)] for name in _PLAIN if name in bases), None)
    model = held.get((_MODEL, "hard"))
    if oracle is None or model is None:
        return ""
    theirs, ours = (
        np.array([mean_of(part, "rmse_component", component) for component in components])
        for part in (oracle, model)
    )
    if np.isnan(theirs).all():
        return ""
    worst = int(np.nanargmax(theirs))
    text = (
        f"Told the true component of everybody, {oracle.iloc[0]['label']} errs by "
        f"{number(np.nanmean(theirs), 3)} on average over components and at most by "
        f"{number(theirs[worst], 3)} (component {worst + 1}), the choice model (hard), which is "
        f"not told, by {number(np.nanmean(ours), 3)}; it is better on "
        f"{int((theirs < ours).sum())} of {len(components)} components"
    )
    shown = [mean_of(oracle, "rmse_component", component, "printed") for component in components]
    if not np.isnan(shown).all():
        text += f". The paper prints up to {number(np.nanmax(shown), 3)} for it"
        text += (
            ", which a correct fit does not show"
            if np.nanmax(theirs) < 0.5 * np.nanmax(shown)
            else ""
        )
    return text + "."


def totals_sentence(table, metrics):
    """How far predicted totals are from the expected truth, beside the noise of the count."""
    if not knows_truth(table) or not has_test_rows(metrics):
        return ""
    parts = []
    for (method, way), part in _parts(table).items():
        if not method.startswith(_MODEL):
            continue
        errors = []
        for total in ("enrolment", "revenue"):
            true = mean_of(part, f"{total}_true")
            error = mean_of(part, f"{total}_predicted") / true - 1 if true else np.nan
            if not np.isnan(error):
                shown = number(100 * error, 1, sign=True)
                errors.append(f"{total} {shown} % ({small(error, OPTIMISM)})")
        if errors:
            parts.append(f"{row_label(part.iloc[0]['label'], way)}: {listing(errors)}")
    noise = metrics.loc[metrics["metric"] == "enrolment_actual", "standard_error"].mean()
    actual = metrics.loc[metrics["metric"] == "enrolment_actual", "value"].mean()
    if not parts:
        return ""
    text = f"Predicted minus true totals, mean over repeats: {'; '.join(parts)}."
    if not np.isnan(noise) and actual:
        text += (
            f" By chance alone the actual count of {number(actual, 0)} has a standard deviation of "
            f"{number(noise, 1)} ({percent(noise / actual)})."
        )
    return text


def single_sentence(table, settings):
    """The one offer to everybody that earns most, such as an entry fee."""
    unit = (settings.get("offer") or {}).get("unit", "")
    for (method, _), part in _parts(table).items():
        names = ("single_offer", "single_offer_acceptance", "single_offer_revenue")
        offer, accepted, earned = (mean_of(part, name) for name in names)
        if method != _MODEL or np.isnan([offer, accepted, earned]).any():
            continue
        spread = mean_of(part, "single_offer", column="sd")
        places = places_for([offer], 1)
        text = f"One offer to everybody earns most at {number(offer, places)}"
        text += f" {unit}" if unit else ""
        if not np.isnan(spread):
            text += f" (sd over repeats {number(spread, places)})"
        return (
            f"{text} by the curves of the choice model: {percent(accepted, 0)} accept it, and it "
            f"earns {number(earned, places_for([earned], 2))} for each person."
        )
    return ""


def gain_sentences(table):
    """Claimed beside true gain of the best offers, and beside the off-policy value."""
    for (method, way), part in _parts(table).items():
        if not method.startswith(_MODEL):
            continue
        label = row_label(part.iloc[0]["label"], way)
        above, found = optimism(part), gains(part)
        if not np.isnan([above, found["revenue_claimed"], found["revenue_true"]]).any():
            claimed, true = (
                number(100 * found[f"revenue_{name}"], 1, sign=True) for name in ("claimed", "true")
            )
            side = "more" if above > 0 else "less"
            yield (
                f"{label}: its best offers claim {claimed} % revenue and truly bring {true} %; the "
                f"claimed revenue is {percent(abs(above))} {side} than the true one "
                f"({small(above, OPTIMISM)})."
            )
            continue
        value, low, high = (mean_of(part, f"revenue_snips{end}") for end in ("", "_low", "_high"))
        claim = mean_of(part, "revenue_claimed")
        if np.isnan([value, claim]).any():
            continue
        above = optimism(part, "revenue_snips")
        side = "above" if above > 0 else "below"
        text = (
            f"{label}: the claimed revenue of its best offers is {percent(abs(above))} {side} what "
            f"logged answers to such offers say (SNIPS; {small(above, OPTIMISM)})"
        )
        if not np.isnan([low, high]).any():
            where = "inside" if low <= claim <= high else "outside"
            text += f", {where} the 95 % interval of that"
        yield text + "."


def warnings(table, metrics, settings):
    """What makes curves and gains doubtful, one sentence each.

    Offers that hardly vary within segments, slopes at their bound, curves held monotone.
    """
    labels = {one["id"]: method_label(one) for one in settings["methods"]}
    least = ((settings.get("protocol") or {}).get("options") or {}).get("least_spread", 0.05)
    seen = set()
    for (method, _), part in _parts(table).items():
        share = mean_of(part, "offer_variation")
        if share > 0 and method not in seen:
            seen.add(method)
            yield (
                f"{labels[method]}: in {percent(share, 0)} of the segments, mean over repeats, the "
                f"offers hardly vary (standard deviation below {least:g} of their range). Slopes "
                "and gains there rest on the form of the curve, not on data."
            )
    yield from _at_the_end(table, settings)
    for method in settings["methods"]:
        own = metrics[metrics["source"] == method["id"]]
        chosen = own.loc[own["metric"] == "components_chosen", "value"].sum()
        if is_oracle(method) or not chosen:
            continue
        for metric, words in WARNED:
            total = own.loc[own["metric"] == metric, "value"].sum()
            if total > 0:
                yield (
                    f"{labels[method['id']]}: segments {words}: {number(total, 0)} of "
                    f"{number(chosen, 0)} over all repeats."
                )
        capped = own.loc[(own["metric"] == "components_capped") & (own["value"] > 0), "value"]
        if len(capped):
            yield (
                f"{labels[method['id']]}: there are rows for {number(capped.min(), 0)} segments at "
                f"most; more were not tried in {count(len(capped), 'repeat')}."
            )


def _at_the_end(table, settings):
    """Best offers of most people at an end of the declared range."""
    offer = settings.get("offer") or {}
    near = 1e-6 * (offer.get("high", 1.0) - offer.get("low", 0.0))
    for name in ("low", "high"):
        edge, labels = offer.get(name, np.nan), []
        for part in _parts(table).values():
            ends = [mean_of(part, f"best_offer{end}") for end in ("_low", "", "_high")]
            if sum(abs(end - edge) <= near for end in ends) >= 2:
                labels.append(part.iloc[0]["label"])
        if labels:
            yield (
                f"Most best offers are at the end of the declared range, {edge:g} "
                f"({listing(dict.fromkeys(labels))}). By these curves revenue still rises there, "
                "so that the best offer may lie beyond."
            )


def counts(metrics, settings):
    """Counts that must not be hidden, as sentences; those of zero are left out."""
    labels = {one["id"]: method_label(one) for one in settings["methods"]} | {"labels": ""}
    for metric, words in COUNTED:
        rows = metrics[(metrics["metric"] == metric) & metrics["source"].isin(labels)]
        total = rows["value"].sum()
        if total > 0:
            some = [labels[name] for name in rows.loc[rows["value"] > 0, "source"].unique()]
            named = listing(some) if any(some) else ""
            yield f"{number(total, 0)} {words}{f' ({named})' if named else ''}."
