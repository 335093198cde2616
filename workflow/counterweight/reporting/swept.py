"""What was swept by Γ in a study: found, and told in short, for pages and figures."""

from dataclasses import dataclass

from counterweight.files.settings import setting_name, setting_options
from counterweight.numerics.sensitivity import TWICE
from counterweight.reporting.numbers import Estimate
from counterweight.reporting.wording import number, places_for

#: What is swept: metric, what it is called in a title, what hidden labels say of it elsewhere.
SWEPT = (
    ("swept_rate", "Share of 1", None),
    ("swept_mean", "Mean outcome", None),
    ("swept_gain", "Gain in accuracy over {reference}", None),
    ("swept_accuracy", "Accuracy of {method}", "accuracy"),
    ("swept_brier", "Brier score of {method}", "brier"),
)
#: Whose rows, in print.
AMONG = {"general": "everyone", "unlabeled": "those without a label"}
GIVEN = "delivered"


@dataclass(frozen=True)
class Swept:
    """A quantity of a study by Γ.

    ``name`` and ``title`` say what it is, in short and in full; ``common`` says whether one
    factor for all rows gives a curve of its own; ``truth`` is what hidden labels say, where there
    are any.
    """

    numbers: object
    source: str
    metric: str
    target: str
    name: str
    title: str
    common: bool
    truth: Estimate

    @property
    def measure(self):
        return self.numbers.measure(self.metric)

    def at(self, gamma, end):
        """The `Estimate` of an end at a Γ."""
        place = {"setting": setting_name({"gamma": float(gamma)}), "variable": end}
        return self.numbers.get(self.source, self.metric, self.target, **place)

    def ends(self, end):
        """The `Estimate` of an end by setting, in the order of Γ."""
        settings = self.numbers.places(
            "setting", self.source, self.metric, self.target, variable=end
        )
        settings = sorted(settings, key=lambda one: setting_options(one)["gamma"])
        return {
            one: self.numbers.get(self.source, self.metric, self.target, setting=one, variable=end)
            for one in settings
        }

    def range(self, gamma, chance=False):
        """``12.1 to 31.0 %`` at a Γ; with `chance` to the outer ends of the bounds' intervals."""
        unit, factor = _told_in(self.measure)
        least, most = (self.at(gamma, end) for end in ("least", "most"))
        ends = (least.low, most.high) if chance and least.bounded else (least.mean, most.mean)
        places = 1 if factor == 100 else places_for(ends)
        return " to ".join(number(factor * end, places) for end in ends) + unit

    @property
    def centre(self):
        """Around what Γ is swept, in words."""
        return "with the tilt" if self.numbers.plan.get("tilt") else "if missing at random"

    @property
    def sentence(self):
        """The range at Γ = 2 and the estimate."""
        known = self.at(1.0, "least")
        unit, factor = _told_in(self.measure)
        middle = (
            number(factor * known.mean, 1 if factor == 100 else places_for([known.mean])) + unit
        )
        return f"{self.title}: {middle} {self.centre}, {self.range(TWICE)} at Γ = {TWICE:g}"


def swept_of(numbers, target=None):
    """Each `Swept` of a study: of what it gives away, or of its main method.

    Parameters
    ----------
    numbers : counterweight.reporting.numbers.StudyNumbers
    target : str, optional
        By default the rows without a label where they are a target, else the first.
    """
    targets = numbers.plan["targets"]
    target = target or ("unlabeled" if "unlabeled" in targets else targets[0])
    given, _ = numbers.given_away
    main, reference = given or numbers.main, reference_of(numbers)
    names = {"reference": numbers.label(reference) if reference else ""}
    for metric, title, known in SWEPT:
        source = _source(numbers, metric, target, main)
        if source is None:
            continue
        names["method"] = numbers.label(main if source == GIVEN else source)
        truth = Estimate()
        if source != GIVEN and known:
            truth = numbers.get(source, known, target)
        elif metric == "swept_gain":
            truth = numbers.against(reference, source, "accuracy", target).times(100)
        elif source != GIVEN:
            truth = numbers.get(source, metric, target, variable="truth")
        words, whom = title.format(**names), whom_of(numbers, target)
        yield Swept(
            numbers,
            source,
            metric,
            target,
            name=title.partition(" of {")[0].partition(" over {")[0],
            title=f"{words}, {whom}",
            common=metric in ("swept_accuracy", "swept_brier", "swept_gain"),
            truth=truth,
        )


def whom_of(numbers, target):
    """Whose rows, in print."""
    return numbers.plan.get("whom") or AMONG.get(target, target)


def reference_of(numbers):
    """The method whose chances are swept in a study of classifiers; None where there is none."""
    known = [
        one["id"] for one in numbers.methods() if numbers.measured("swept_rate", None, one["id"])
    ]
    return next(iter(known), None)


def _source(numbers, metric, target, main):
    """Whose numbers are shown: what is given away, the main method, else the reference."""
    sources = [GIVEN, main, reference_of(numbers)]
    return next((one for one in sources if one and numbers.measured(metric, target, one)), None)


def _told_in(measure):
    """Unit behind a number, with its blank, and the factor."""
    if measure.percent:
        return " %", 100.0
    return (f" {measure.unit}" if measure.unit == "points" else ""), 1.0
