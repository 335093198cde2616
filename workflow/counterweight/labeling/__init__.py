"""Stage 2: features, outcome, who is labeled, splits."""

FEATURES = {
    "adult_binary": "counterweight.labeling.features.adult_binary:adult_binary",
    "ca_logged": "counterweight.labeling.features.ca_logged:ca_logged",
    "one_hot": "counterweight.labeling.features.one_hot:one_hot",
    "as_is": "counterweight.labeling.features.as_is:as_is",
    "typed": "counterweight.labeling.features.typed:typed",
    "no_features": "counterweight.labeling.features.no_features:no_features",
}

OUTCOMES = {
    "equals": "counterweight.labeling.outcomes.equals:equals",
    "known_class": "counterweight.labeling.outcomes.known_class:known_class",
    "above_median": "counterweight.labeling.outcomes.above_median:above_median",
    "reward": "counterweight.labeling.outcomes.reward:reward",
    "accepts": "counterweight.labeling.outcomes.accepts:accepts",
    "given": "counterweight.labeling.outcomes.given:given",
    "no_outcome": "counterweight.labeling.outcomes.no_outcome:no_outcome",
    "logged_reward": "counterweight.labeling.outcomes.logged_reward:logged_reward",
}

LABELINGS = {
    "married": "counterweight.labeling.rules.married:married",
    "coastal": "counterweight.labeling.rules.coastal:coastal",
    "known_propensity": "counterweight.labeling.rules.known_propensity:known_propensity",
    "dialled": "counterweight.labeling.rules.dialled:dialled",
    "earlier": "counterweight.labeling.rules.earlier:earlier",
    "everyone": "counterweight.labeling.rules.everyone:everyone",
    "kept_log": "counterweight.labeling.rules.kept_log:kept_log",
    "answered": "counterweight.labeling.rules.answered:answered",
    "logged": "counterweight.labeling.logs:logged",
    "own_log": "counterweight.labeling.own_log:own_log",
    "kept_numbers": "counterweight.labeling.rules.kept_numbers:kept_numbers",
    "scored_log": "counterweight.labeling.rules.scored_log:scored_log",
    "offered": "counterweight.labeling.offered:offered",
    "deployed": "counterweight.labeling.rules.deployed:deployed",
    "present": "counterweight.labeling.rules.present:present",
    "sensitive": "counterweight.labeling.sensitive:sensitive",
}
