"""Counterweight: learn, decide, collect and evaluate from biased samples.

One subpackage a stage of the workflow, in the order of the flow: ``datasets``,
``labeling``, ``selection``, ``weighting``, ``models``, ``evaluation``,
``reporting``. Nothing in here knows Snakemake.
"""

__version__ = "0.3.0"
