"""Take the figures of the pages of families from a run: ``python docs/figures.py [results]``."""

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
GROUND, WHITE = 'style="fill: none"', 'style="fill: #ffffff"'


def take(results, images):
    """Copy each figure, on white, since a page may be dark."""
    for name, (study, figure) in TAKEN.items():
        text = (results / study / "figures" / f"{figure}.svg").read_text(encoding="utf-8")
        # The first path is the ground of the whole drawing.
        text = text.replace(GROUND, WHITE, 1)
        (images / f"{name}.svg").write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    take(Path((sys.argv[1:] or ["results"])[0]), Path(__file__).parent / "images")
