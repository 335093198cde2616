"""Which pages follow from which jobs of the small run."""

import re
from pathlib import Path

import yaml

SMALL = Path(__file__).with_name("small.yaml")
#: Jobs that a page of the study's family follows: whatever measures, and the figures.
MEASURED = re.compile(r"draw_(\w+)$|(?:label|select|weigh|evaluate) (\w+)")


def with_pages(jobs):
    """Jobs of the small run, and the pages of the families whose measurements they make anew."""
    studies = yaml.safe_load(SMALL.read_text())["studies"]
    anew = [part for job in jobs for part in MEASURED.findall(job)]
    return {*jobs} | {f"page_{studies[drawn or study]['family']}" for drawn, study in anew}
