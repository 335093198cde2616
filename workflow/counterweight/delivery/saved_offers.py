"""The saved model of a study of offers: the fit on every answer, and offers for anybody by it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from counterweight.datasets.own_table import typed_like
from counterweight.delivery.saved_models import (
    BATCH,
    PEOPLE,
    SavedModel,
    as_frame,
    encoded,
    feature_arrays,
    feature_facts,
)
from counterweight.errors import CounterweightError, in_figures, listed
from counterweight.labeling.offered import OfferScale, hole_ends
from counterweight.models.choice.offer_limits import Allotment, allotted, columns_asked
from counterweight.models.choice.offer_training import told_categories
from counterweight.models.choice.offers_to_try import (
    as_asked,
    coins_of_offers,
    drawn_by,
    experiment,
)
from counterweight.models.choice.pricing import (
    FAR,
    Kinds,
    beyond,
    nearest,
    offer_reasons,
    offers_made,
    pricer,
    quantiles,
    tell_offers,
    texts_of,
    total_by_draws,
    within_holes,
    without_losses,
)
from counterweight.numerics.checks import pandas_frame, with_columns
from counterweight.plan.components import load, reference
from counterweight.tables.saved_form import writing_answers
from counterweight.tables.table_reader import row_batches

#: Bootstrap draws, and the share of them that an interval holds.
DRAWS, LEVEL = 60, 0.95
SHARES = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
#: Draws, at least, by which somebody with a rare level is priced as with each that is known.
EACH = 8
#: An offer is told to rest on a rare level where known ones part best offers by this share of its
#: interval: less is what chance makes of levels that do not differ.
DECIDES = 0.6
#: People, at most, by whom the optimism of best offers is told, and of them at a time.
OPTIMISM_OF, TOGETHER = 20_000, 4_000
#: Numbers of features handled at a time.
NUMBERS = 1 << 24
#: What to do where new rows are not there.
ABSENT = "correct the path of the new rows in the config (score)"


#: Of boosting, by what offers bring that it gives away.
ROUGH = (
    "What offers by boosted trees bring is rough: trees hold back what few rows say, and their "
    "draws do not tell by how much."
)


class Expected(NamedTuple):
    """What best offers are expected to bring a person: ``value``, its interval ``low``, ``high``.

    ``optimism`` is what was taken off the mean of ``best_revenue``; see `SavedOffers.optimism`.
    """

    value: float
    low: float
    high: float
    optimism: float


class SavedOffers(SavedModel):
    """A model of who accepts which offer, and the offers that earn most by it.

    Assumes what the model does, and that new people answer as those of the fit did. No offer
    leaves the range in which offers were made to people of the same kind (see
    `counterweight.models.choice.pricing`); within it, it is the one of largest
    expected revenue.

    Parameters
    ----------
    facts : dict
        ``model``, ``options``, ``setting``, ``offer`` (``column``, ``low``, ``high``,
        ``direction``, ``revenue``, ``grid``; of few that were made ``holes`` between them, and
        ``only_made`` where the grid are these), ``id`` (column or None), ``rows``, ``level``,
        ``features``; perhaps ``study``, ``title``, ``method``, ``rests_on`` (sentences),
        ``single_offer``, the one offer to everybody in place of the model's, ``optimism`` of
        the people of the fit, and ``rivals``, model and setting of each fit whose best offers
        intervals hold, too.
    arrays : dict of str to array
        ``model.*``, ``draw.*``, ``rival0.*`` ..., ``kinds.*``, ``feature.*``, ``made`` (kinds, 2),
        ``far``.

    Attributes
    ----------
    encoder : TabularEncoder
    scale : OfferScale
    model
        The fitted model.
    """

    KIND = "offers"

    def __init__(self, facts: dict, arrays: dict) -> None:
        super().__init__(facts, arrays)
        offer = facts["offer"]
        self.scale = OfferScale(offer["low"], offer["high"], offer["direction"], offer["revenue"])
        self.model = load("model", facts["model"]).from_arrays(self.part("model"))
        self._pricer = pricer(self.model, facts["setting"])
        self._rivals = [
            pricer(load("model", one["model"]).from_arrays(self.part(f"rival{at}")), one["setting"])
            for at, one in enumerate(facts.get("rivals", ()))
        ]
        self._kinds = Kinds(**self.part("kinds")) if "kinds.centres" in self.arrays else None

    @classmethod
    def fitted(
        cls,
        X,
        offers,
        answers,
        encoder,
        *,
        method,
        setting,
        offer,
        rng,
        stored=None,
        facts=None,
        categories=None,
        rivals=(),
    ):
        """Fit a method (``model``, ``options``) on all people with an offer and an answer.

        Features X (n, d) are by `encoder`, `offers` (n,) in the user's units, `answers` 0 and 1;
        `setting` is hard or soft for a model of segments, else empty; `offer` as in the class,
        ``low`` and ``high`` numbers. `rng` is for the fit, then the draws. `stored` is a fit on
        these very rows (``to_arrays``) instead of a new one, `facts` more to be kept, `categories`
        as `declare_categories` says it, `rivals` those of `Compared`. Refused is an oracle, which
        nobody could tell the component of a new person, and whatever the model refuses.
        """
        if method["options"].get("per_component"):
            raise CounterweightError(
                f"{method['model']} with per_component cannot be delivered, since nobody knows "
                "the component of a new person: choose another method in deliver."
            )
        kind = load("model", method["model"])
        scale = OfferScale(offer["low"], offer["high"], offer["direction"], offer["revenue"])
        t = scale.scaled(offers)
        if stored is None:
            told = told_categories(kind, [one.name for one in encoder.features_], categories)
            stored = kind(**method["options"]).fit(X, answers, t, rng=rng, **told).to_arrays()
        own = pricer(kind.from_arrays(stored), setting)
        arrays = {f"model.{name}": values for name, values in stored.items()}
        arrays |= feature_arrays(encoder, X)
        arrays["feature.least"] = [
            X[:, own].sum(axis=1).min() for own in texts_of(encoder).values()
        ]
        if own.kinds is not None:
            about, kinds = own.about(X), own.kinds
            which, close = about["kind"], own.closeness(about)
        else:
            made = Kinds.fitted(X, rng)
            arrays |= {f"kinds.{name}": values for name, values in made.to_arrays().items()}
            (which, close), kinds = made.told(X), len(made.centres)
        arrays["far"] = np.quantile(close, FAR, method="inverted_cdf")
        arrays["made"] = offers_made(offers, which, kinds)
        if own.has_draws:
            drawn = own.drawn(X, t, answers, rng, DRAWS)
            arrays |= {f"draw.{name}": values for name, values in drawn.items()}
            for at, one in enumerate(rivals):
                arrays |= {f"rival{at}.{name}": own for name, own in one["arrays"].items()}
        names = ("column", "low", "high", "direction", "revenue", "grid")
        known = {
            "model": method["model"],
            "options": method["options"],
            "setting": setting,
            "offer": {name: offer.get(name) for name in names},
            "rows": len(X),
            "level": LEVEL,
        }
        if len(gaps := offer.get("holes", ())):
            known["offer"] |= {"holes": np.asarray(gaps).tolist(), "only_made": offer["only_made"]}
        if own.has_draws and rivals:
            known["rivals"] = [{key: one[key] for key in ("model", "setting")} for one in rivals]
        return cls({"id": None} | (facts or {}) | known | feature_facts(encoder), arrays)

    def optimal_offers(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The offer of largest expected revenue for each person of a table.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns as in the table that was fitted on; those that no feature needs are passed
            over.

        Returns
        -------
        pandas.DataFrame
            The id, else ``row`` from 0 where the fit had none; ``best_offer`` (null where each that
            may be made loses if it is accepted, so that to make none is better) and its
            interval ``low``, ``high`` (`LEVEL` of the bootstrap draws, and best offers by rivals;
            of people whose text shares a level with other rare ones also `LEVEL` of what they would
            get with the levels that are known; null for models without draws); ``best_p``, the
            chance that it is accepted, and ``best_revenue``, that chance times the revenue;
            ``offered_min``, ``offered_max``, what was offered to such people;
            ``supported``, whether the fit has seen such people; ``reason``, why not, or why the
            offer is at an end of what was made; for models of segments ``segment``,
            ``segment_p``, ``eta``, ``k`` (scaled) and ``eta_offer``, the offer that half of the
            segment accepts.

        Raises
        ------
        CounterweightError
            When there is nobody, a column is missing, or holds text instead of numbers.
        """
        parts, sums = [], None
        for part, first in self.batches(frame):
            X = self.encode(part, first)
            sums = self.added(sums, self.sums(X))
            parts.append(pd.DataFrame(self.named(part, first) | self.priced(X)))
        self.tell(sums)
        return as_frame(pd.concat(parts, ignore_index=True), frame)

    def expected(self, frame: pd.DataFrame) -> Expected:
        """What the best offers bring a person of a table, by the model's own claim put right.

        Columns and errors are as in `optimal_offers`. The mean of ``best_revenue`` less the
        ``optimism`` that was saved with the fit, else that of these people; the interval is of
        `total_ends`. Assumed is what the model assumes: no answer checks the claim.
        """
        X = self.encoded(frame)
        return self.expected_of(X, self.priced(X))

    def expected_of(self, X, priced):
        """`Expected` of people with these features and columns of `priced`."""
        off = self.facts.get("optimism")
        off = self.optimism(X) if off is None else off
        offers, count = priced["best_offer"], len(X)
        value = float(np.mean(priced["best_revenue"])) - off
        low, high = self.total_ends(X, offers, self.scale.revenue(offers), count * value)
        if self.rough:  # How much of the optimism is real is not known.
            high = max(high, count * (value + off))
        return Expected(value, float(low) / count, float(high) / count, off)

    def optimism(self, X):
        """What is taken off the claim, a person: `by_choosing`, where answers chose no prior."""
        return 0.0 if self._pricer.posterior else self.by_choosing(X)

    def by_choosing(self, X):
        """By how much a person's best offer is claimed to earn too much, on average.

        The largest value of an estimated curve is above the truth by chance. As in the bootstrap
        (Efron 1983, the optimism of an error rate) draws are to the fit as the fit is to the truth:
        what each draw finds best earns so much more by the draw than by the fit. 0 without draws.
        """
        own, draws = self._pricer, self.part("draw")
        if not self.has_draws or self.single is not None:
            return 0.0
        X = X[:: -(-len(X) // OPTIMISM_OF)]
        step = max(len(next(iter(draws.values()))) // DRAWS, 1)
        some, total = {name: values[::step] for name, values in draws.items()}, 0.0
        for start in range(0, len(X), TOGETHER):
            people = X[start : start + TOGETHER]
            about = own.about(people)
            (bounds, (a, b), grid), kind = self._asked(), self.kinds_of(about, people)[0]
            best = own.ends(about, kind, bounds, (a, b), grid, some, lambda best: best)
            more = own.accept_drawn(about, best, some) - own.accept_several(about, best)
            total += float((more * np.maximum(a + b * best, 0.0)).sum()) / len(best)
        return total / len(X)

    def total_ends(self, X, offers, worth, total, cost=0.0, beside=None):
        """Ends of the interval of what offers (n,), NaN for none, bring together.

        With `beside` (n,) of what they bring more than those, each draw of the same people.

        `worth` (n,) is the revenue if accepted, `total` what is claimed of all, less the `cost` of
        offers made. `LEVEL` of the values of these offers by the draws, about the claim; values by
        rivals are held, too, and any curve between offers that were made where nothing like some
        was tried. NaN without draws. Of these very people.
        """
        if not self.has_draws:
            return float("nan"), float("nan")
        got, ends = np.isfinite(offers), []
        if beside is not None:  # who gets none brings nothing, and others might
            offers, worth = np.where(got, offers, beside), np.where(got, worth, 0.0)
        rows = np.flatnonzero(np.isfinite(offers))
        X, valued = X[rows], [(offers[rows], worth[rows])]
        if beside is not None:
            valued.append((beside[rows], -self.scale.revenue(beside[rows])))
        own = self._pricer, self._rivals, self.part("draw"), X, self.parts_of(len(X)), SHARES
        for made, brought in within_holes(self, X, valued, total):
            scaled = [(np.clip(self.scale.scaled(one), 0.0, 1.0), paid) for one, paid in made]
            ends.append(total_by_draws(*own, scaled, brought, cost))
        return min(low for low, _ in ends), max(high for _, high in ends)

    def between(self, offers):
        """Offers that were made next to those in a hole, the less accepted first (2, n); or own."""
        ends = hole_ends(offers, self.facts["offer"].get("holes", ()))
        return ends if self.scale.direction == "up" else ends[::-1]

    def shown(self) -> dict:
        column, scale = self.facts["offer"]["column"], self.scale
        low, high = (in_figures(one, 6) for one in (scale.low, scale.high))
        told = {"offers": f"{column} from {low} to {high}"}
        if self.facts["offer"].get("only_made"):
            told = {"offers": f"{column} of {listed(self.facts['offer']['grid'])}, as was made"}
        told |= {} if self.single is None else {"one offer to everybody": self.single}
        told |= {"doubt": doubt} if (doubt := self.facts.get("doubt")) else {}
        if none := self.facts.get("best_none"):
            told["no offer is better for"] = f"{100 * none:.3g} %"
        told |= {"no gain is shown over": listed(o)} if (o := self.facts.get("no_gain")) else {}
        share = self.facts.get("untried")
        return told | ({"nothing like it was tried of": f"{100 * share:.3g} %"} if share else {})

    def acceptance(self, frame: pd.DataFrame, offers: ArrayLike) -> pd.DataFrame:
        """Chance (n,) that each person accepts an offer, or one each (n,), in the user's units.

        Errors are those of `optimal_offers`, and of an offer that is missing or outside the range.
        """
        frame = pandas_frame(frame, "people")
        try:
            offers = np.broadcast_to(np.asarray(offers, float), (len(frame),))
        except (TypeError, ValueError) as error:
            raise CounterweightError(
                f"offers are no number, nor one for each of {len(frame)} people ({error}): give "
                "numbers in the unit of past offers."
            ) from error
        wrong = np.flatnonzero(~((offers >= self.scale.low) & (offers <= self.scale.high)))
        if len(wrong):
            raise CounterweightError(
                f"The offer of {len(wrong)} people is missing or outside the range from "
                f"{self.scale.low:g} to {self.scale.high:g} (first: {offers[wrong[0]]:g} in row "
                f"{wrong[0]}): correct these offers."
            )
        return self.accepted(self.encoded(frame), offers)

    def allot(self, frame: pd.DataFrame, **limits: object) -> tuple[pd.DataFrame, Allotment]:
        """Offers that earn most together under limits on those who are expected to accept.

        Offers are those of the grid, else `points` of them evenly over what was made to anybody;
        nobody gets one outside what was made to people like them.
        Multipliers make limits prices: see `counterweight.models.choice.offer_limits`.

        Parameters
        ----------
        frame : pandas.DataFrame
        capacity : float, optional
            At most as many are to accept, in expectation, or with the chance `confidence`.
        confidence : float, optional
            Over answers, which are up to chance, and over draws of the fit if its form is right;
            of a method without draws (a tree) over answers alone, with a warning.
        budget : float, optional
            What may be given away in all: the distance of accepted offers from the end of the
            range at which nothing is given.
        quality : tuple (column, least) or dict with these keys, optional
            Least mean of a column among those who accept.
        share : tuple (column, value, least) or dict with these keys, optional
            Least share of a group among those who accept.
        revenue : str, callable or sequence of (offer, amount), optional
            A column that stands in place of the intercept of the revenue (a tuition, a margin, a
            loan), or a function of offers in their own unit, or points of it with lines between;
            the declared revenue otherwise.
        spent : float, callable or sequence of (offer, amount), optional
            Cost of an offer, whether or not it is accepted.
        skip : bool, default True
            Whether a person may get no offer.
        points : int, default 21

        Returns
        -------
        pandas.DataFrame
            The id, ``offer`` (null for none), ``p`` and ``revenue``, expected.
        counterweight.models.choice.offer_limits.Allotment
            Totals, multipliers and what the greedy rule would earn.

        Raises
        ------
        CounterweightError
            As `optimal_offers`; without any limit; where limits cannot be kept.
        """
        own = self.asked_columns(frame, columns_asked(limits))
        columns, found, _ = allotted(self, self.encoded(frame), own, **limits)
        return as_frame(self.named(frame) | columns, frame), found

    def experiment(
        self, frame: pd.DataFrame, rng: np.random.Generator, **asked: object
    ) -> pd.DataFrame:
        """The next offers, drawn near the best ones with chances that are told.

        Parameters
        ----------
        frame : pandas.DataFrame
        rng : numpy.random.Generator
        **asked
            ``how``, ``levels``, ``spread``, ``least``: see
            `counterweight.models.choice.offers_to_try`.

        Returns
        -------
        pandas.DataFrame
            The id, ``tried_offer``, ``propensity`` (its chance), ``best_level``, and expected
            revenues: ``tried_revenue`` of the experiment, ``level_revenue`` of the best level.
        """
        made = experiment(self, self.encoded(frame), rng.random(len(frame)), **asked)
        return as_frame(self.named(frame) | made, frame)

    def collect(
        self,
        frame: pd.DataFrame,
        budget: float | None = None,
        *,
        half_width: float | None = None,
        key: object = None,
        experiment: dict | None = None,
        **options: object,
    ) -> object:
        """Plan whom to make which offer next, so that what offers earn rests on no model.

        Parameters
        ----------
        frame : pandas.DataFrame
            People to make offers to, with their id.
        budget : float, optional
            How many get one.
        half_width : float, optional
            In place of it: of the interval that is wanted of what a person brings.
        key : int, bytes, path or Key, optional
            What people and offers are drawn by; by default the file ``filter.key``.
        experiment : dict, optional
            ``how``, ``levels``, ``spread``, ``least``, as `experiment` takes them.
        **options
            ``floor`` and ``batches``, as under ``collect`` in a config.

        Returns
        -------
        OfferPlan
            ``frame`` are the offers to make; ``expected()`` what interval they will give;
            ``with_labels(labels)`` what their answers say.
        """
        told = {"budget": budget, "half_width": half_width} | options
        plan = reference("counterweight.delivery.offer_plans:OfferPlan")
        return plan(self, frame, key=key, experiment=experiment, **told)

    def encoded(self, frame):
        """Features (n, d) of a whole table, encoded batch by batch."""
        return np.concatenate([self.encode(part, first) for part, first in self.batches(frame)])

    def kinds_of(self, about, X):
        """Kind of each person, to whom offers were made as to others of it, and how close."""
        if self._kinds is None:
            return about["kind"], self._pricer.closeness(about)
        return self._kinds.told(X)

    def encode(self, frame, first=0, where=PEOPLE, reading=None):
        """Features (n, d) of a table; `first` is the number of its first row, `where` its file."""
        frame = self.typed(frame, where, reading, first)
        return encoded(frame, self.encoder, people="people", saved="model", first=first)

    def asked_columns(self, frame, names, first=0, where=PEOPLE, reading=None):
        """Columns of a table that limits name, typed as in the fit where it had them."""
        absent = [name for name in names if name not in frame]
        if absent:
            raise CounterweightError(
                f"{where} has no column {absent[0]!r}, which limits name: add it, or change limits."
            )
        asked = self.facts.get("asked") or {}
        types, forms = ((self.facts.get(k) or {}) | asked.get(k, {}) for k in ("types", "forms"))
        known = [name for name in names if name in types]
        if known:
            how = {"needed": known, "forms": forms, "reading": reading, "first": first}
            typed = typed_like(where, frame, types, **how)
            frame = with_columns(frame, {name: typed[name].to_numpy() for name in known})
        return frame[list(names)]

    def accepted(self, X, offers):
        """Chance (n,) that people with these features accept their offers."""
        t = np.clip(self.scale.scaled(offers), 0.0, 1.0)
        return self._by_parts(
            lambda at: {"p": self._pricer.accept(self._pricer.about(X[at]), t[at])}, len(X)
        )["p"]

    def priced(self, X):
        """Columns of `optimal_offers`, without the id, of people with these features."""
        return self._by_parts(lambda at: self._priced(X[at]), len(X))

    @property
    def single(self) -> float | None:
        """The offer to everybody that is given away in place of the model's; None elsewhere."""
        return self.facts.get("single_offer")

    @property
    def rough(self):
        """Whether `ROUGH` is true of what the offers are told to bring."""
        return self._pricer.shrunken and self.single is None

    @property
    def has_draws(self):
        """Whether draws tell what the fit is not sure of; boosting of 1.0.0 saved none."""
        return self._pricer.has_draws and any(name.startswith("draw.") for name in self.arrays)

    def parts_of(self, rows):
        """Slices of so many rows that are handled at a time."""
        width = self.arrays["feature.fill"].size
        step = max(min(BATCH, NUMBERS // (1 + width * (width + 3) // 2)), 256)
        return [slice(at, at + step) for at in range(0, rows, step)]

    def _by_parts(self, function, rows):
        parts = [function(at) for at in self.parts_of(rows)]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _asked(self):
        """Bounds (kinds, 2) of offers, scaled; revenue of the scaled offer; scaled grid or None."""
        scale, grid = self.scale, self.facts["offer"]["grid"]
        bounds = np.sort(np.clip(scale.scaled(self.arrays["made"]), 0.0, 1.0), axis=1)
        scaled_grid = None if grid is None else np.sort(scale.scaled(grid))
        return bounds, scale.scaled_revenue(), scaled_grid

    def _priced(self, X):
        own, scale, made = self._pricer, self.scale, self.arrays["made"]
        about = own.about(X)
        kind, close = self.kinds_of(about, X)
        grid = self.facts["offer"]["grid"]
        asked = (about, kind, *self._asked())
        least, most = made[kind].T

        def rounded(t, least=least, most=most):
            """Offers in the user's units; those of a grid exactly, others where any were made."""
            offers = self._rounded(t)
            return offers if grid is not None else np.clip(offers, least, most)

        pooled = np.full(len(X), "", object)
        low = high = np.full(len(X), np.nan)
        offers = rounded(own.best(*asked)) if self.single is None else np.full(len(X), self.single)
        if self.has_draws and self.single is None:
            ends = own.ends(*asked, self.part("draw"), lambda best: quantiles(best, SHARES))
            others = [one.best(one.about(X), *asked[1:]) for one in self._rivals]
            held = [*rounded(ends), offers, *map(rounded, others)]
            low, high = np.min(held, axis=0), np.max(held, axis=0)
            for column, mine, reach, *tried in self._as_known_levels(X, self._asked()):
                by_fit, tried = (np.sort(rounded(one, *reach), axis=0) for one in tried)
                low[mine] = np.minimum(low[mine], tried[0])
                high[mine] = np.maximum(high[mine], tried[1])
                pooled[mine[np.ptp(by_fit, axis=0) > DECIDES * (high[mine] - low[mine])]] = column
        p = own.accept(about, np.clip(scale.scaled(offers), 0.0, 1.0))
        supported, reason = self._reasons(X, close, offers, least, most, pooled)
        told = own.told(about)
        if told:
            told["eta_offer"] = scale.offers(told["eta"])
        priced = {
            "best_offer": offers,
            "low": low,
            "high": high,
            "best_p": p,
            "best_revenue": p * scale.revenue(offers),
            "offered_min": least,
            "offered_max": most,
            "supported": supported,
            "reason": reason,
        }
        none = self.facts.get("none", True)
        return (without_losses(priced, scale.revenue(offers)) if none else priced) | told

    def _as_known_levels(self, X, asked):
        """Of each text column: who has a rare level, or one that was never seen; the reach of
        offers to people like them with each level that is known; and `LEVEL` of the best offers
        that they would then get, by the fit and by its draws: (2, m) each.

        Such levels are taken to differ as the known ones do; of their own effect nothing is known.
        """
        own, draws, made = self._pricer, self.part("draw"), self.arrays["made"]
        count = len(next(iter(draws.values())))
        for column, places in texts_of(self.encoder).items():
            kinds = {at: self.encoder.features_[at].kind for at in places}
            known = [at for at in places if kinds[at] == "category"]
            told = [at for at in places if kinds[at] != "other"]
            step = max(count // max(EACH, DRAWS // max(len(known), 1)), 1)
            mine = np.flatnonzero(X[:, told].sum(axis=1) == 0)
            if not len(mine) or not known:
                continue
            by_fit, tried, reach = [], [], []
            for place, at in enumerate(known):
                as_known = X[mine]
                as_known[:, places] = 0.0
                as_known[:, at] = 1.0
                some = {name: values[place % step :: step] for name, values in draws.items()}
                about = own.about(as_known)
                kind = self.kinds_of(about, as_known)[0]
                by_fit.append(own.best(about, kind, *asked))
                tried.append(own.ends(about, kind, *asked, some, lambda best: best))
                reach.append(made[kind])
            reach = np.min(reach, axis=0)[:, 0], np.max(reach, axis=0)[:, 1]
            ends = (quantiles(one, SHARES) for one in (by_fit, np.concatenate(tried)))
            yield column, mine, reach, *ends

    def _rounded(self, t):
        """Offers in the user's units, rounded; those of a grid exactly."""
        grid, offers = self.facts["offer"]["grid"], self.scale.offers(t)
        return self.scale.rounded(offers) if grid is None else nearest(grid, offers)

    def pooled_reasons(self) -> dict:
        """By text column, what is said of people whose best offer goes by a rare level."""
        return {
            column: f"few people had this {column}, and the interval holds what others of it get"
            for column in texts_of(self.encoder)
        }

    def _reasons(self, X, close, offers, least, most, pooled):
        """Whether the fit has seen such people and offers, and a text that says why not.

        Also why an interval is wide: `pooled` (n,) is the column whose rare level decides.
        """
        untried, unmade, largest, smallest, alone = offer_reasons(self.facts["offer"]["column"])
        texts, code = [""], np.zeros(len(X), int)

        def say(which, text):
            if which.any():
                code[which & (code == 0)] = len(texts)
                texts.append(text)

        least_seen = zip(texts_of(self.encoder).items(), self.arrays["feature.least"], strict=True)
        for (name, own), seen in least_seen:
            say(X[:, own].sum(axis=1) < seen, f"a value of {name} that was never seen")
        say(close < self.arrays["far"], "unlike nearly everybody whom an offer was made to")
        first = beyond(X, self.arrays["feature.low"], self.arrays["feature.high"])
        for at in np.unique(first[first >= 0]):
            say(first == at, f"{self.encoder.features_[at].column} beyond what was seen")
        say(np.ptp(self.between(offers), axis=0) > 0, untried)
        # One offer for all was drawn for everybody.
        wrong = ((offers < least) | (offers > most)) & (self.single is None)
        say(wrong, unmade)
        supported = code == 0
        for name, text in self.pooled_reasons().items():
            say(pooled == name, text)
        inside = (least > self.scale.low, most < self.scale.high)
        say((offers == most) & inside[1], largest)
        say((offers == least) & inside[0], smallest)
        if self.single is not None:
            say(code == 0, alone)
        return supported, np.array(texts, object)[code]


def price_file(job):
    """Price new people, batch by batch, and say how they differ from those of the fit."""
    saved = SavedOffers.read(job.input.model)
    new, reading = str(job.input.score), job.given["reading"]
    limits, tried = (job.given.get(key) for key in ("limits", "experiment"))
    names = columns_asked(limits)
    told, waiting, sums, first, ends = [], [], 0.0, 0, np.zeros(2)
    with writing_answers(job.output.table, job.output.csv) as (write, facts):
        for part in row_batches(new, absent=ABSENT, rows=saved.BATCH, reading=reading):
            people = part.to_pandas(ignore_metadata=True)
            X = saved.encode(people, first, new, reading)
            sums = sums + saved.sums(X)
            priced = saved.priced(X)
            offers = pd.DataFrame(saved.named(people, first) | priced)
            if limits or tried:
                # Limits are of all of them at once.
                own = saved.asked_columns(people, names, first, new, reading)
                waiting.append((offers, X, own))
            else:
                write(offers)
            if not limits:  # Draws of the fit are common to all batches, so are their ends.
                found = saved.expected_of(X, priced)
                ends += np.array([found.low, found.high]) * len(X)
            told.append(offers[["best_offer", "reason"]])
            first += len(people)
        if not first:
            raise CounterweightError(f"{new} has no row: there is nobody to price.")
        if waiting:
            offers, X, own = zip(*waiting, strict=True)
            offers, own = (pd.concat(parts, ignore_index=True) for parts in (offers, own))
            coins = None
            if tried:
                coins = coins_of_offers(saved, offers, drawn_by(job, "new experiment"))
            columns, records = as_asked(saved, np.concatenate(X), own, limits, tried, coins)
            write(with_columns(offers, columns))
            for one in records:
                name = " ".join(str(one[key]) for key in ("metric", "part") if key in one)
                job.log.info("%s: %.6g", name, one["value"])
            known = {one["metric"]: one["value"] for one in records}
            if limits:
                known = [known.get(f"allotted_revenue_{end}") for end in ("low", "high")]
                ends = np.array(known, float)
        facts |= saved.tell(sums) | ({"ends": ends.tolist()} if np.isfinite(ends).all() else {})
    tell_offers(job.log, pd.concat(told, ignore_index=True), saved.facts["offer"]["column"])
