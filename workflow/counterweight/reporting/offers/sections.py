"""What stands on the page of a study of offers."""

from counterweight.reporting.offers import sentences
from counterweight.reporting.offers.sheets import sheets
from counterweight.reporting.offers.tables import offer_table
from counterweight.reporting.page.sections import tables_of
from counterweight.reporting.page.tables import reason_of, study_settings


def sections(page):
    """The sections of a study of offers: its sheets, and counts that must not be hidden."""
    return {
        "tables": [_offers_view(page, *named) for named in tables_of(page.settings)],
        "notes": list(sentences.counts(page.own, page.settings)),
    }


def offers_table(metrics, plan, study, target="general", printed=(), failures=()):
    """The table of a study of offers; see `counterweight.reporting.offers.tables`."""
    settings = study_settings(plan, study)
    return offer_table(
        metrics,
        settings,
        study,
        target,
        printed,
        lambda source: reason_of(failures, study, source, settings),
    )


def _offers_view(page, target, title):
    """The sheets of a study of offers with their sentences and warnings."""
    settings, own = page.settings, page.own
    table = offers_table(own, page.plan, page.name, target, page.printed, page.failures)
    return {
        "kind": "offers",
        "title": title,
        "caption": "Chances of acceptance, totals and best offers",
        "sentences": [*sentences.sentences(table, own, settings), page.claims_sentence(target)],
        "warnings": list(sentences.warnings(table, own, settings)),
        "sheets": sheets(table, settings, own),
        "oracle": bool(table["oracle"].any()),
    }
