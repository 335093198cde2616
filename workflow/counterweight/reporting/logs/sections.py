"""What stands on the page of a study of a log."""

from counterweight.reporting.logs import policy_values
from counterweight.reporting.logs.tables import value_table
from counterweight.reporting.page.sections import tables_of
from counterweight.reporting.page.wording import count

_RESAMPLINGS = {
    "bootstrap": ("bootstrap resampling", "bootstrap resamplings"),
    "split": ("part of the log", "parts of the log"),
}


def sections(page):
    """The sections of a study of a log: values of policies."""
    return {"tables": [_value_view(page, *named) for named in tables_of(page.settings)]}


def _value_view(page, target, title):
    """The table of policy values with its sentences."""
    table = value_table(page.own, page.plan, page.name, target, failures=page.failures)
    resample = page.settings.get("protocol", {}).get("options", {}).get("resample", "")
    return {
        "kind": "value",
        "title": title,
        "caption": "Value of each policy",
        "sentences": [*policy_values.value_sentences(table), page.claims_sentence(target)],
        "rows": list(policy_values.value_rows(table)),
        "long": "",
        "resamplings": count(int(table["n"].max()), *_RESAMPLINGS.get(resample, ("resampling",))),
        "whole": bool(table["coverage_whole"].notna().any()),
    }
