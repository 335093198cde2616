"""Stage 2: features, outcome, who is labeled, splits."""

FEATURES = {
    "adult_binary": "counterweight.labeling.recipes:adult_binary",
    "ca_logged": "counterweight.labeling.recipes:ca_logged",
    "one_hot": "counterweight.labeling.recipes:one_hot",
    "as_is": "counterweight.labeling.recipes:as_is",
    "typed": "counterweight.labeling.recipes:typed",
    "no_features": "counterweight.labeling.recipes:no_features",
}

OUTCOMES = {
    "equals": "counterweight.labeling.outcome_rules:equals",
    "known_class": "counterweight.labeling.outcome_rules:known_class",
    "above_median": "counterweight.labeling.outcome_rules:above_median",
    "reward": "counterweight.labeling.outcome_rules:reward",
    "accepts": "counterweight.labeling.outcome_rules:accepts",
    "given": "counterweight.labeling.outcome_rules:given",
    "no_outcome": "counterweight.labeling.outcome_rules:no_outcome",
    "logged_reward": "counterweight.labeling.logs:logged_reward",
}

LABELINGS = {
    "married": "counterweight.labeling.labeling_rules:married",
    "coastal": "counterweight.labeling.labeling_rules:coastal",
    "known_propensity": "counterweight.labeling.labeling_rules:known_propensity",
    "missingness_mechanism": "counterweight.labeling.labeling_rules:missingness_mechanism",
    "earlier": "counterweight.labeling.labeling_rules:earlier",
    "everyone": "counterweight.labeling.labeling_rules:everyone",
    "kept_log": "counterweight.labeling.logs:kept_log",
    "answered": "counterweight.labeling.labeling_rules:answered",
    "logged": "counterweight.labeling.logs:logged",
    "own_log": "counterweight.labeling.logs:own_log",
    "kept_numbers": "counterweight.labeling.logs:kept_numbers",
    "scored_log": "counterweight.labeling.logs:scored_log",
    "offered": "counterweight.labeling.offered:offered",
    "deployed": "counterweight.labeling.labeling_rules:deployed",
    "present": "counterweight.labeling.missing_outcomes:present",
    "sensitive": "counterweight.labeling.sensitive:sensitive",
}
