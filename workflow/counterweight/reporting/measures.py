"""What is known of a measure: how it is called, told and judged. Declared, not guessed."""

from typing import NamedTuple

#: Bounds of what is told in a unit, where a measure says no others.
OF_UNITS = {"share": (0.0, 1.0)} | dict.fromkeys(
    ("rows", "labels", "steps", "updates", "components"), (0.0, None)
)


class Measure(NamedTuple):
    """How a metric is told.

    Attributes
    ----------
    label : str
        In print, lower case unless it is a name.
    unit : str
        ``share`` (between 0 and 1; differences are told in points, times 100), ``relative``
        (told in per cent of what it is relative to), or the unit's own name, "" for none.
    better : str
        ``more``, ``less``, or "" where neither is.
    digits : int or None
        After the point; by its size if None.
    percent : bool
        Whether values (not only differences) are told in per cent.
    meaning : str
        One sentence for the glossary.
    counted : bool
        Whether it is a count that must not be hidden where it is above 0.
    bounds : sequence of two, of float or None
        Least and largest possible value, within which intervals stay; by default those of the
        unit: 0 and 1 for a share, 0 and no other for what is counted, none else.
    ends : sequence of two str
        Metrics that hold the ends of an interval that was measured with the value, if any.
    """

    label: str
    unit: str = ""
    better: str = ""
    digits: int | None = None
    percent: bool = False
    meaning: str = ""
    counted: bool = False
    bounds: tuple = ()
    ends: tuple = ()

    @property
    def limits(self):
        """Least and largest possible value, None for none."""
        return tuple(self.bounds) or OF_UNITS.get(self.unit, (None, None))

    @property
    def told(self):
        """``(unit, factor)`` of differences."""
        if self.unit == "share":
            return "points", 100.0
        if self.unit == "relative":
            return "% of the value", 100.0
        return self.unit, 1.0


def measure_of(declared, metric, measure=""):
    """The `Measure` of a metric, by what the plan declares; its name in words if nothing is.

    Parameters
    ----------
    declared : dict
        ``measures`` of a study's part of the plan: fields by metric, and by ``metric of measure``
        for metrics that are taken of several measures and differ by them.
    metric, measure : str
    """
    entry = declared.get(f"{metric} of {measure}") or declared.get(metric)
    if entry is None:
        words = f"{metric} of {measure}" if measure else metric
        entry = {"label": words.replace("_", " ")}
    return Measure(**entry)


def packed(shown):
    """The plan of a report with each measure that studies share said once; see `unpacked`."""
    common = shown.get("measures") or {}
    for study in shown["studies"].values():
        common = study["measures"] | common
    studies = {
        name: study
        | {
            "measures": {
                metric: None if entry == common[metric] else entry
                for metric, entry in study["measures"].items()
            }
        }
        for name, study in shown["studies"].items()
    }
    return shown | {"measures": common, "studies": studies}


def unpacked(shown):
    """What `packed` was given: every study with all that is known of its measures."""
    studies = {
        name: study
        | {
            "measures": {
                metric: entry or shown["measures"][metric]
                for metric, entry in study["measures"].items()
            }
        }
        for name, study in shown["studies"].items()
    }
    return shown | {"studies": studies}
