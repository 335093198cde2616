"""What stands on the page of a study of balanced filtering."""

from counterweight.reporting.filters import sentences
from counterweight.reporting.filters.sheets import sheets
from counterweight.reporting.filters.tables import FilterResults, filter_table
from counterweight.reporting.page import summaries
from counterweight.reporting.page.tables import reason_of, reasons_of, study_settings


def sections(page):
    """The sections of a study of filters: its sheets, and counts that must not be hidden."""
    printed = [entry for entry in page.printed if entry["study"] == page.name]
    results = FilterResults(page.own, page.settings, printed)
    return {"tables": [_filter_view(page, results)], "notes": list(sentences.counts(results))}


def filters_table(metrics, plan, study, target="", printed=(), failures=()):
    """The table of a study of filters; see `counterweight.reporting.filters.tables`."""
    settings = study_settings(plan, study)
    return filter_table(
        metrics, settings, study, lambda source: reason_of(failures, study, source, settings)
    )


def _filter_view(page, results):
    """The sheets of a study of balanced filtering with their sentences and warnings."""
    about = {
        claim: verdict
        for claim, verdict, rule in summaries.rules_of(page.claims)
        if rule["study"] == page.name
    }
    return {
        "kind": "offers",
        "title": "",
        "caption": "How balanced, how disclosive, how large",
        "sentences": [*sentences.sentences(results), summaries.claims_sentence(about)],
        "warnings": list(sentences.warnings(results)),
        "sheets": sheets(results, reasons_of(page.failures, page.name, page.settings)),
        "oracle": False,
    }
