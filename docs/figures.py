"""Take the pictures of the documentation from runs: ``python docs/figures.py [results [own]]``.

Figures of the pages of families, from the results of the standard run. With `own`, results of the
lender's example, also screenshots of the index, of a study and of a table of one's own, light and
dark; these need the extra ``browser`` and Chromium.
"""

import io
import shutil
import sys
from pathlib import Path

#: Figure of a page: the study of the standard run, and which of its figures.
TAKEN = {
    "selection_bias": ("adult_married", "accuracy"),
    "subsampled_logs": ("clicks_subsampled", "keep_rates"),
    "offers": ("three_segments", "curves"),
    "balanced_filters": ("adult_filter", "proportions"),
    "constraints": ("fairness_education", "fairness"),
}
#: Pages that are photographed, by name: whose results, and the file in them.
PHOTOGRAPHED = {
    "index": ("standard", "report.html"),
    "study": ("standard", "report/fairness_sex.html"),
    "own_table": ("own", "report/applicants.html"),
}
SIZE = {"width": 1180, "height": 860}
GROUND, WHITE = 'style="fill: none"', 'style="fill: #ffffff"'


def take(results, images):
    """Copy each figure, on white, since a page may be dark."""
    for name, (study, figure) in TAKEN.items():
        text = (results / study / "figures" / f"{figure}.svg").read_text(encoding="utf-8")
        # The first path is the ground of the whole drawing.
        text = text.replace(GROUND, WHITE, 1)
        (images / f"{name}.svg").write_text(text.rstrip() + "\n", encoding="utf-8")


def photograph(folders, images):
    """Screenshots of pages, light and dark, in few colours so that they stay small."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        there = {"executable_path": found} if (found := shutil.which("chromium")) else {}
        browser = playwright.chromium.launch(args=["--no-sandbox"], **there)
        for theme in ("light", "dark"):
            page = browser.new_context(viewport=SIZE, color_scheme=theme).new_page()
            for name, (whose, file) in PHOTOGRAPHED.items():
                page.goto((folders[whose] / file).resolve().as_uri())
                picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
                picture = picture.quantize(colors=64, dither=Image.Dither.NONE)
                picture.save(images / f"{name}_{theme}.png", optimize=True)


if __name__ == "__main__":
    folders = dict(zip(("standard", "own"), map(Path, sys.argv[1:] or ["results"]), strict=False))
    images = Path(__file__).parent / "images"
    take(folders["standard"], images)
    if "own" in folders:
        photograph(folders, images)
