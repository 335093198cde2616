"""Stage 4: importance weights from selection probabilities."""

WEIGHTINGS = {
    "lemma1": "counterweight.weighting.lemmas:general_weights",
    "lemma2": "counterweight.weighting.lemmas:unlabeled_weights",
    "bickel": "counterweight.weighting.ratios.bickel:discriminator_weights",
    "kernel_mean_matching": "counterweight.weighting.ratios.kernel_mean_matching:matching_weights",
    "shimodaira": "counterweight.weighting.ratios.shimodaira:tempered_weights",
    "rosset": "counterweight.weighting.ratios.rosset:moment_weights",
    "rosset_label_only": "counterweight.weighting.ratios.rosset:label_only_weights",
    "heckman": "counterweight.weighting.ratios.heckman:heckman_weights",
    "to_target": "counterweight.weighting.to_target:to_target",
    "equal": "counterweight.weighting.acceptance:equal_acceptance",
    "quadratic": "counterweight.weighting.acceptance:quadratic_acceptance",
    "relaxed": "counterweight.weighting.acceptance:relaxed_acceptance",
}
