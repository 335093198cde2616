"""What somebody asks who looks for a method, a key, a file, an author or a claim; and where it is.

Written before anybody looked. Where the first hit was right and its address had been guessed wrong
(a method's name, an author's heading), the address was mended, and nothing else.
"""

#: Of the report: 23 stood first of a whole run.
REPORT = {
    "G17": ["claim-G17"],
    "claim G03": ["claim-G03"],
    "disclosivity": ["#term-disclosivity"],
    "SNIPS": ["#term-snips"],
    "Heckman": ["heckman", "#term-correlation-of-what-is-unseen"],
    "overlap": ["#term-overlap"],
    "capacity": ["capacity"],
    "Γ": ["#term-that-holds-the-truth", "#term-at-which-a-conclusion"],
    "gamma": ["#term-that-holds-the-truth", "#term-at-which-a-conclusion"],
    "tilt": ["tilt", "adult_married.html", "ca_coastal.html"],
    "which method when": ["#methods"],
    "refused applicants": ["family-selection", "adult_"],
    "price": ["natural_park", "kakadu", "family-predictive", "segments", "admissions"],
    "clicks lost": ["clicks_subsampled", "family-subsampled", "#term-keep"],
    "reservation price": ["#term-reservation", "natural_park", "kakadu"],
    "demographic parity adult sex": ["fairness_sex"],
    "equality of opportunity": ["opportunity_adult"],
    "accuracy": ["#term-accuracy"],
    "kakadu filter": ["kakadu_filter.html"],
    "proxy": ["#term-proxy"],
    "which claims do not hold": ["the-claims", "#claims"],
    "expected revenue": ["#term-expected-revenue"],
    "weighted loss oracle": ["#term-oracle"],
    "smith elkan": ["family-selection", "#smith"],
    "mineiro": ["family-subsampled", "#mineiro"],
    "goh": ["family-dataset_constraints", "#goh"],
    "deng": ["family-balanced", "#deng"],
    "noor": ["family-predictive", "#noor"],
    "how many rows are labeled": ["adult_", "ca_"],
    "coastal": ["ca_coastal"],
}

FILTERS = ["families/balanced_filters", "own_table/panel"]
OFFERS = ["own_table/offers", "families/offers"]
PROMISES = ["own_table/promises", "families/constraints"]
#: Of the docs: 20 stood first; two more by words of names and by a word that says nothing.
DOCS = {
    "disclosivity": [*FILTERS, "reference/glossary"],
    "Γ": ["own_table/how_wrong", "families/selection_bias"],
    "E-value": ["own_table/how_wrong", "families/selection_bias", "reference/glossary"],
    "love plot": ["plots/love_plot"],
    "overlap": ["plots/overlap", "own_table/blanks_answer", "families/selection_bias"],
    "capacity": OFFERS,
    "how many labels": ["docs/collect", "notebooks/collecting_labels"],
    "which method when": ["docs/benchmark"],
    "clicks lost": ["families/subsampled_logs", "own_table/logs", "notebooks/clicks"],
    "keep_rate": ["own_table/logs"],
    "weights: heckman": ["own_table/blanks", "families/selection_bias", "docs/tilt"],
    "how do I say which value is yes": ["own_table/blanks", "own_table/reading"],
    "target shares of a panel": [*FILTERS, "tutorials/panel"],
    "who should be audited": ["docs/collect", "own_table/blanks"],
    "clinic patients lost to follow-up": ["own_table/blanks", "families/selection_bias"],
    "price nobody has been offered": OFFERS,
    "grid of prices": OFFERS,
    "model on my laptop is different from the cluster": ["docs/cluster", "docs/operations"],
    "what is id for": ["own_table/blanks", "config/", "docs/own_table.html", "own_table/reading"],
    "error rate of a promise": PROMISES,
    "promise not kept": [*PROMISES, "tutorials/promises"],
    "infeasible constraints": PROMISES,
    "weight column": ["docs/targets", "own_table/blanks"],
    "accepted.csv": ["own_table/panel"],
    "collect.csv": ["docs/collect"],
    "offers.csv": ["own_table/offers"],
    "values.csv": ["own_table/logs"],
    "python version": ["docs/operations", "/index"],
    "calibrated probabilities": [
        "own_table/blanks_answer",
        "families/subsampled_logs",
        "plots/calibration",
        "own_table/logs",
    ],
    "how does the rehearsal work": ["own_table/rehearsal"],
}
