"""Stage 2: features, outcome, who is labeled, splits."""

FEATURES = {
    "adult_binary": "counterweight.labeling.adult_binary:adult_binary",
    "ca_logged": "counterweight.labeling.ca_logged:ca_logged",
    "one_hot": "counterweight.labeling.one_hot:one_hot",
    "as_is": "counterweight.labeling.as_is:as_is",
}

OUTCOMES = {
    "equals": "counterweight.labeling.equals:equals",
    "above_median": "counterweight.labeling.above_median:above_median",
    "reward": "counterweight.labeling.reward:reward",
    "accepts": "counterweight.labeling.accepts:accepts",
    "no_outcome": "counterweight.labeling.no_outcome:no_outcome",
}

LABELINGS = {
    "married": "counterweight.labeling.married:married",
    "coastal": "counterweight.labeling.coastal:coastal",
    "known_propensity": "counterweight.labeling.known_propensity:known_propensity",
    "everyone": "counterweight.labeling.everyone:everyone",
    "logged": "counterweight.labeling.logs:logged",
    "offered": "counterweight.labeling.offered:offered",
    "deployed": "counterweight.labeling.deployed:deployed",
    "sensitive": "counterweight.labeling.sensitive:sensitive",
}
