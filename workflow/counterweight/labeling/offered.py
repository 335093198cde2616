"""Offers and yes/no answers: scaled offers, who trains and who is tested, what is true."""

import numpy as np
import pandas as pd

from counterweight.errors import CounterweightError, listed
from counterweight.fragments import Array, Choice, Flag, Number, Option, Text
from counterweight.labeling.columns import equal, refuse_outside, require, types_in
from counterweight.labeling.split import check_features, size_records
from counterweight.labeling.target_leakage import of_offers
from counterweight.tables.study_data import check_row_ids, found_rows, generator


class OfferScale:
    """Offers between the user's units and [0, 1], where acceptance rises.

    t = (d - low) / (high - low) for the direction up, (high - d) / (high - low) for down. The
    revenue of an accepted offer in the user's units has ``intercept`` and ``slope``; without them
    it is 1 - t (up) or d (down). Refused unless all numbers are finite and low is below high.
    """

    def __init__(self, low=0.0, high=1.0, direction="up", revenue=None):
        if direction not in ("up", "down"):
            raise CounterweightError(
                f"The direction of offers is {direction!r}: choose up or down."
            )
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise CounterweightError(
                f"The offers are declared to lie from {low:g} to {high:g}: low must be below high, "
                "both finite; correct labeling.low and labeling.high."
            )
        self.low, self.high, self.direction = float(low), float(high), direction
        self.width = self.high - self.low
        if revenue is not None:
            line = [revenue.get("intercept"), revenue.get("slope")]
        else:
            line = [self.high / self.width, -1 / self.width] if direction == "up" else [0.0, 1.0]
        if not all(isinstance(value, (int, float)) and np.isfinite(value) for value in line):
            raise CounterweightError(
                f"The revenue is {revenue}: it needs the finite numbers intercept and slope."
            )
        self.intercept, self.slope = map(float, line)

    def scaled(self, offers):
        """Offers t in [0, 1] from offers in the user's units."""
        offers = np.asarray(offers, dtype=float)
        above = offers - self.low if self.direction == "up" else self.high - offers
        return above / self.width

    def offers(self, t):
        """Offers in the user's units from t in [0, 1]."""
        t = np.asarray(t, dtype=float)
        return self.low + t * self.width if self.direction == "up" else self.high - t * self.width

    def revenue(self, offers):
        """Revenue of accepted offers in the user's units."""
        return self.intercept + self.slope * np.asarray(offers, dtype=float)

    def scaled_revenue(self):
        """``(a, b)`` with revenue a + b t of an accepted offer."""
        at_zero, at_one = self.revenue(self.offers([0.0, 1.0])).tolist()
        return at_zero, at_one - at_zero

    def rounded(self, offers):
        """Offers in the user's units to `DIGITS` digits of the width of the range."""
        return np.round(offers, DIGITS - int(np.ceil(np.log10(self.width))))


#: Digits of the width of the range that offers are rounded to.
DIGITS = 6
TASK = "offers"
OPTIONS = {
    "offer": Text("offer", "Column of the offer that was made, in its own units."),
    "low": Number(0.0, "Least offer that can be made, in its own units; null for the least that was made.", null=True),
    "high": Number(1.0, "Largest offer that can be made, in its own units; null for the largest that was made.", null=True),
    "direction": Choice("up", ["up", "down"], "up where acceptance rises with the offer (a discount, aid), down where it falls (a price, a fee)."),
    "revenue": Option(None,
        "Revenue of an accepted offer d: intercept + slope d. null for the part of the range that is not given away "
        "(up), or for d itself (down).",
        type="object", additionalProperties=False, required=["intercept", "slope"], null=True,
        properties={"intercept": {"type": "number"}, "slope": {"type": "number"}}),
    "grid": Array(None,
        "The only offers that can be made, in their own units; null for every offer of the range.", items={"type": "number"}, minItems=1, null=True),
    "between": Choice("any", ["any", "made"],
        "Where few offers were made, with gaps above an eighth of their range: made: only those that were made can be, unless grid names "
        "others; any: those between them, too."),
    "random": Flag(None, "Whether offers were drawn at random, alike for everybody; null: tested.", null=True),
    "where": Option({}, "Column and value of the rows to use; {} for all.", type="object"),
    "blanks": Choice("refuse", ["refuse", "unanswered"], "refuse: a missing offer is an error. unanswered: the person is no example, but gets an offer."),
    "world": Text("world", "Column that numbers independent worlds from 0: each is a repeat. Of no effect where the table has no such column."),
    "part": Text("part", "Column that says train or test. Of no effect where the table has no such column."),
    "eta": Text("eta", "Column of the true threshold, where the truth is known."),
}  # fmt: skip
LABEL = "answers are seen of the offers that were made"
#: Share of the offers at either end that may be mistaken, and how far away, in widths of the range
#: of the others, such an offer cannot be right unless the range is declared.
STRAYS, FARTHEST = 0.01, 10.0
#: Up to as many distinct offers are few.
MOST_LEVELS = 30
#: Share of the range of offers above which a gap between two that were made is a hole.
WIDE = 1 / 8
LABELS = (
    ("repeat", "int16"),
    ("row", "int32"),
    ("role", "string"),
    ("offer", "float64"),
    ("t", "float64"),
    ("answer", "int8"),
)


def offered(
    frame,
    *,
    offer="offer",
    low=0.0,
    high=1.0,
    direction="up",
    revenue=None,
    grid=None,
    between="any",
    random=None,
    where=(),
    blanks="refuse",
    world="world",
    part="part",
    eta="eta",
):
    """Offers of a table, the rows that count, and their parts, by `OPTIONS`.

    ``kept`` (array of bool), ``offer`` (array, in the user's units), ``world`` (array of int or
    None), ``test`` (array of bool or None), ``eta``, ``columns``, and ``scale_of(offers)``, the
    `OfferScale`. Refused are columns that are missing or text; offers that count and are missing
    or outside [low, high]; worlds that are no whole number from 0; parts that are neither train
    nor test; and a table without rows to use.
    """
    # What lies between offers, and whether they were random, is for what is made of their answers.
    del between, random
    where, what = dict(where), "labeling rule offered"
    require(frame, [offer, *where], what)
    rows, kept, types = frame["row"].to_numpy(), np.ones(len(frame), bool), types_in(frame)
    for column, value in where.items():
        kept &= equal(frame[column], value, text=types[column] == "text")
    if not kept.any():
        asked = " and ".join(f"{column} = {value}" for column, value in where.items())
        raise CounterweightError(
            f"None of {len(frame)} rows is to be used ({asked or 'the table is empty'}): correct "
            "labeling.where or the data."
        )
    values = _numbers(frame, offer, "offer")
    if blanks == "unanswered":
        kept = kept & ~np.isnan(values)
        if not kept.any():
            raise CounterweightError(
                f"The offer {offer!r} is missing in all {len(frame)} rows: choose another column."
            )
    ends = {"low": low, "high": high, "grid": grid}
    _refuse_strays(ends, values[kept], rows[kept], offer)
    low, high = offer_range(ends, values[kept])
    # Refuses ends that are none.
    OfferScale(low, high, direction, revenue)
    outside = [value for value in grid or () if not low <= value <= high]
    if outside:
        raise CounterweightError(
            f"labeling.grid holds {listed(outside)}, which is outside the range of offers from "
            f"{low:g} to {high:g}: leave it out, or widen the range."
        )
    counted = {"rows": rows, "counted": kept, "name": f"offer {offer!r}", "where": "labeling"}
    refuse_outside(values, low, high, **counted)
    worlds = tested = None
    if world and world in frame.columns:
        worlds = _numbers(frame, world, "world")
        _refuse(~((worlds >= 0) & (worlds % 1 == 0)) & kept, world, "a number from 0 up", frame)
        worlds = np.where(kept, worlds, -1).astype(int)
    if part and part in frame.columns:
        known = frame[part].isin(["train", "test"]).to_numpy()
        _refuse(~known & kept, part, "train or test", frame)
        tested = (frame[part] == "test").fillna(False).to_numpy(dtype=bool)
    return {
        "scale_of": lambda made: OfferScale(*offer_range(ends, made), direction, revenue),
        "kept": kept,
        "offer": values,
        "world": worlds,
        "test": tested,
        "eta": eta,
        "columns": {"offer": offer, "world": world, "part": part},
    }


def offer_range(offer, made):
    """Least and largest offer: as declared, else of those that were made and of the grid."""
    low, high, grid = offer.get("low", 0.0), offer.get("high", 1.0), offer.get("grid") or ()
    low = float(np.min([np.nanmin(made), *grid])) if low is None else low
    return low, float(np.max([np.nanmax(made), *grid])) if high is None else high


def holes(made):
    """Ends (m, 2) of the gaps between few offers that were made (n,): nothing within was tried.

    Few are up to `MOST_LEVELS`. A gap is wider than `WIDE` of the range of the offers, but for the
    `STRAYS` at either end.
    """
    made = np.asarray(made, dtype=float)
    levels = np.unique(made)
    if not 1 < len(levels) <= MOST_LEVELS:
        return np.empty((0, 2))
    width = np.ptp(np.quantile(made, [STRAYS, 1 - STRAYS], method="inverted_cdf"))
    gaps = np.column_stack([levels[:-1], levels[1:]])
    return gaps[np.diff(gaps)[:, 0] > WIDE * width * (1 + 1e-9)]


def hole_ends(offers, gaps):
    """Least and largest offer (2, n) of the gaps that offers (n,) lie in; elsewhere their own."""
    ends = np.tile(np.asarray(offers, dtype=float), (2, 1))
    for low, high in gaps:
        room = 1e-6 * (high - low)
        ends[:, (ends[0] > low + room) & (ends[1] < high - room)] = [[low], [high]]
    return ends


def _refuse_strays(ends, made, rows, column):
    """Refuse offers that are all one, or a few far beyond all others, where these tell the range.

    On the scale of a range that a typing error makes, all other offers are the same.
    """
    if ends["low"] is not None and ends["high"] is not None:
        return
    low, high = offer_range(ends, made)
    if np.ptp(made) == 0 and low == high:
        raise CounterweightError(
            f"All {len(made)} offers in {column!r} are {low:g}, so nothing is known of others: "
            "choose another column."
        )
    few = max(int(STRAYS * len(made)), 1)
    if len(made) <= 2 * few + 1:
        return
    least, most = np.sort(made)[[few, -few - 1]]
    room = FARTHEST * (most - least)
    away = np.maximum(least - made, made - most)
    far = ((made < least) & (ends["low"] is None)) | ((made > most) & (ends["high"] is None))
    far &= away > room
    if room > 0 and far.any():
        first = int(np.argmax(np.where(far, away, -1.0)))
        raise CounterweightError(
            f"{int(far.sum())} of {len(made)} offers in {column!r} lie far beyond the others, "
            f"most of which are from {least:g} to {most:g} (farthest: {made[first]:g} in row "
            f"{rows[first]}): correct them, or declare the range (low and high)."
        )


def _numbers(frame, column, what):
    if not pd.api.types.is_numeric_dtype(frame[column]):
        example = frame[column].dropna().astype(str)
        words = example[~example.str.contains(r"\d")]
        if 0 < len(words) < len(example) / 2:
            raise CounterweightError(
                f"The {what} column {column!r} holds {len(words)} words among its numbers (first: "
                f"{words.iloc[0]!r}): write numbers for them, or leave them blank."
            )
        example = f" (first: {example.iloc[0]!r})" if len(example) else ""
        raise CounterweightError(
            f"The {what} column {column!r} holds no numbers{example}: choose another column, or "
            "write its values as plain numbers."
        )
    return frame[column].to_numpy(dtype=float, na_value=np.nan)


def _refuse(wrong, column, expected, frame):
    if wrong.any():
        first = int(np.argmax(wrong))
        raise CounterweightError(
            f"The column {column!r} is {frame[column].iloc[first]!r} in row "
            f"{frame['row'].iloc[first]} ({int(wrong.sum())} such rows) where {expected} is "
            f"expected: correct it, or name another column in the labeling options."
        )


def label_offers(
    frame,
    features,
    known,
    rule,
    outcome,
    *,
    seed,
    study,
    repeats,
    test_share,
    answer=None,
    judged=False,
):
    """Offers and answers to learn from, and what is hidden, in every repeat: labels, truth.

    Where the table has worlds, repeat r is world r and holds its rows alone; its test rows
    are those of the part ``test``, and without parts all rows train (the paper's first
    experiment predicts the rows that it learned from). Otherwise every repeat holds all rows:
    parted as the table says, or by random splits.

    `frame` is the prepared table, `features` rows kept by the recipe, with ``row``, in the order
    that draws go by; `known` what is known of a generated data set, by ``row``: ``component``, and
    threshold and slope ``eta``, ``k`` in the user's units, as far as there. `rule` is `offered`
    with its options,
    ``outcome(frame, population)`` gives 0 and 1. `answer` is the column of the answers, which must
    be no feature; `judged` whether a column report has left out what tells the answer or the offer,
    else such a feature is refused. Labels have the layout `LABELS`; ``answer`` (Int8) is null on
    test rows. The truth has ``repeat, row, answer`` and, where known, ``component``, ``eta``, ``k``
    on the scale of t, and ``p``, the true acceptance of the offer that was made.

    Refused where there are fewer worlds than repeats; a split leaves no row to train or to test;
    the training answers or offers are all equal; a role's column is among the features.
    """
    check_features(features)
    check_row_ids(np.sort(features["row"]))
    check_row_ids(frame["row"])
    layout = rule(frame)
    at, answers = answered_rows(frame, features, layout, outcome)
    rows, offers = frame["row"].to_numpy("int32")[at], layout["offer"][at]
    roles = [*layout["columns"].values(), answer]
    _check_features(features, rows, answers, roles, offers, judged)
    worlds = layout["world"]
    scale = layout["scale_of"](offers if worlds is None else offers[worlds[at] < repeats])
    truth = _known(known, rows, scale, layout["eta"], scale.scaled(offers))
    labels, hidden = [], []
    for repeat in range(repeats):
        mine, test = _roles(layout, at, repeat, repeats, test_share, seed, study)
        _check_training(answers[mine & ~test], offers[mine & ~test], repeat)
        held = {"repeat": np.full(int(mine.sum()), repeat, "int16"), "row": rows[mine]}
        given = pd.array(answers[mine], dtype="Int8")
        facts = {"answer": given.copy()} | {name: v[mine] for name, v in truth.items()}
        given[test[mine]] = pd.NA
        role = np.where(test[mine], "test", "train").astype(object)
        seen = {"role": role, "offer": offers[mine], "t": scale.scaled(offers[mine])}
        labels.append(pd.DataFrame(held | seen | {"answer": given}))
        hidden.append(pd.DataFrame(held | facts))
    return pd.concat(labels, ignore_index=True), pd.concat(hidden, ignore_index=True)


def answered_rows(frame, features, layout, outcome):
    """Places (m,) in a table of the rows that the rule keeps, with features and an answer; answers.

    They stand in the order of the features. `layout` is from `offered`; the rest see
    `label_offers`. Refused where none is left.
    """
    absent = "Features are of rows that the table does not have: run the study again."
    at = found_rows(frame["row"].to_numpy(), features["row"].to_numpy(), absent)
    at = at[layout["kept"][at]]
    if not len(at):
        raise CounterweightError(
            "The feature recipe leaves out every row that labeling.where asks for: choose another "
            "recipe or other rows."
        )
    part = frame.iloc[at].reset_index(drop=True)
    answers = np.asarray(outcome(part, np.ones(len(part), bool)), dtype=float)
    # People without an answer are to be priced, and are no examples.
    answered = ~np.isnan(answers)
    if not answered.any():
        raise CounterweightError(
            f"None of the {len(at)} people with an offer has an answer: choose another column."
        )
    return at[answered], answers[answered].astype(np.int8)


def _roles(layout, at, repeat, repeats, test_share, seed, study):
    """Which rows a repeat holds, and which of all rows it tests."""
    mine, test = np.ones(len(at), bool), np.zeros(len(at), bool)
    worlds, parts = layout["world"], layout["test"]
    if worlds is not None:
        mine = worlds[at] == repeat
        if not mine.any():
            there = np.unique(worlds[at])
            raise CounterweightError(
                f"The table has {len(there)} worlds ({listed(there)}) and the study {repeats} "
                f"repeats, but repeat {repeat} needs a world {repeat}: set repeats to at most the "
                "number of worlds, numbered from 0."
            )
    if parts is not None:
        test = parts[at]
    elif worlds is None:
        tested = int(test_share * len(at))
        if test_share and not 0 < tested < len(at):
            raise CounterweightError(
                f"test_share {test_share} leaves {tested} of {len(at)} rows for the test: choose a "
                "share that leaves rows on both sides, or 0 for no test."
            )
        test[generator(seed, study, repeat, "split").permutation(len(at))[:tested]] = True
    if not (mine & ~test).any():
        raise CounterweightError(
            f"Repeat {repeat} has no row to train on: all {int(mine.sum())} are of the part test."
        )
    return mine, mine & test


def _check_training(answers, offers, repeat):
    if np.ptp(answers) == 0:
        word = "accepted" if answers[0] else "refused"
        raise CounterweightError(
            f"All {len(answers)} training offers of repeat {repeat} were {word}, so nothing can be "
            "learned of who accepts: use a table with both answers, or correct answer.positive."
        )
    if np.ptp(offers) == 0:
        raise CounterweightError(
            f"All {len(offers)} training offers of repeat {repeat} are {offers[0]:g}, so nothing "
            "can be learned of how acceptance changes with the offer: use a table with at least "
            "two different offers."
        )


def _check_features(features, rows, answers, columns, offers, judged):
    """Refuse features that a role names and, unless a column report has judged, that tell."""
    wrong = [name for name in columns if name and name in features.columns]
    if wrong:
        raise CounterweightError(
            f"The column {listed(wrong)} is among the features, and says the offer, the answer or "
            "the split itself: name the features in features.columns (as_is), or leave it out with "
            "features.drop (one_hot)."
        )
    if judged:
        return
    made, secrets = features.set_index("row").loc[rows], of_offers(answers, offers)
    for name in made.columns:
        values = made[name].to_numpy(dtype=float)
        for secret in secrets:
            if why := secret.judged(values)[0].split(":")[0]:
                raise CounterweightError(
                    f"The column {name} among the features cannot be learnt from ({why}): leave it "
                    "out by features.drop (one_hot), or name the others in features.columns "
                    "(as_is)."
                )


def _known(known, rows, scale, eta, t):
    """What is known of the rows, thresholds and slopes on the scale of t."""
    from scipy.special import expit

    if known is None:
        return {}
    if eta != "eta" and eta not in known.columns:
        raise CounterweightError(
            f"The truth of the data set has no column {eta}; it has "
            f"{listed(known.columns)}: correct labeling.eta."
        )
    known, facts = known.set_index("row").loc[rows], {}
    if "component" in known:
        facts["component"] = known["component"].to_numpy("int16")
    if eta in known and "k" in known:
        # Acceptance is logistic(+-k (d - eta)) in the user's units; on [0, 1] it rises.
        facts["eta"] = scale.scaled(known[eta].to_numpy())
        facts["k"] = known["k"].to_numpy(float) * scale.width
        facts["p"] = expit(facts["k"] * (t - facts["eta"]))
    return facts


def describe_offers(labels, truth, dropped):
    """Sizes, shares of acceptance and spread of the offers of each repeat, as metric records.

    `dropped` are rows of the table that no repeat can hold. Records are ``rows_train``,
    ``rows_test``, ``rows_all``, ``rows_dropped``; by role (``part``) ``accept_share`` (with its
    standard error), ``accept_true`` (the mean of p, where known), ``offer_mean``, ``offer_spread``
    (the standard deviation on the scale of t), ``offer_least``, ``offer_largest``,
    ``offers_distinct``.
    """
    records = []
    for repeat, part in labels.groupby("repeat"):
        hidden, roles = truth.loc[part.index], ("train", "test")
        sizes = {f"rows_{role}": int((part["role"] == role).sum()) for role in roles}
        sizes |= {"rows_all": len(part), "rows_dropped": dropped}
        records += size_records(repeat, len(part), sizes)
        for role in roles:
            mask = (part["role"] == role).to_numpy()
            if not mask.any():
                continue
            offers = part["offer"].to_numpy()[mask]
            share = hidden["answer"].to_numpy(float)[mask].mean()
            place = {"repeat": repeat, "target": "general", "part": role, "rows": int(mask.sum())}
            measured = {
                "accept_share": share,
                "offer_mean": offers.mean(),
                "offer_spread": part["t"].to_numpy()[mask].std(),
                "offer_least": offers.min(),
                "offer_largest": offers.max(),
                "offers_distinct": len(np.unique(offers)),
            }
            if "p" in hidden:
                measured["accept_true"] = hidden["p"].to_numpy()[mask].mean()
            own = [place | {"metric": name, "value": v} for name, v in measured.items()]
            own[0]["standard_error"] = np.sqrt(share * (1 - share) / mask.sum())
            records += own
    return records
