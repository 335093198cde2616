"""Stage 1: data sets, their download, their twins, their typed tables."""

DATASETS = {
    "adult": "counterweight.datasets.adult:Adult",
    "ca_housing": "counterweight.datasets.ca_housing:CaHousing",
    "curved": "counterweight.datasets.simulated:Curved",
    "straight": "counterweight.datasets.simulated:Straight",
}
