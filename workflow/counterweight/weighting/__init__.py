"""Stage 4: importance weights from selection probabilities."""

WEIGHTINGS = {
    "lemma1": "counterweight.weighting.importance_weights:general_weights",
    "lemma2": "counterweight.weighting.importance_weights:unlabeled_weights",
    "bickel": "counterweight.weighting.density_ratios:discriminator_weights",
    "kernel_mean_matching": "counterweight.weighting.density_ratios:matching_weights",
    "shimodaira": "counterweight.weighting.density_ratios:tempered_weights",
    "peer_ratio": "counterweight.weighting.density_ratios:peer_weights",
    "rosset": "counterweight.weighting.outcome_selection:moment_weights",
    "rosset_label_only": "counterweight.weighting.outcome_selection:label_only_weights",
    "heckman": "counterweight.weighting.outcome_selection:heckman_weights",
    "to_target": "counterweight.weighting.to_target:to_target",
    "equal": "counterweight.weighting.acceptance:equal_acceptance",
    "quadratic": "counterweight.weighting.acceptance:quadratic_acceptance",
    "relaxed": "counterweight.weighting.acceptance:relaxed_acceptance",
}
