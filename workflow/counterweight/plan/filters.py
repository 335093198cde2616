"""Studies of balanced filters, spelled out: proxies, acceptance, the filter to take away."""

from counterweight.errors import CounterweightError, listed
from counterweight.plan.mistakes import nearest


def finish_filter(name, study):
    """Check the methods of a study of balanced filters, and find the filter that it gives away.

    Only the weightings that a method uses are kept: a proxy with each way to weigh it would be
    many more than anybody asked for.

    Parameters
    ----------
    name : str
    study : dict
        With ``methods``, ``weightings`` and maybe ``filter``; changed in place.

    Raises
    ------
    CounterweightError
    """
    methods = study["methods"]
    for identity, method in methods.items():
        if not method["weights"]:
            raise CounterweightError(
                f"studies.{name}.models: {identity} has no weights, and a filter accepts by them: "
                "add weights, e.g. weights: quadratic, and the selector that it goes by."
            )
    used = {method["weights"] for method in methods.values()}
    study["weightings"] = {key: spec for key, spec in study["weightings"].items() if key in used}
    kept = {spec["selector"] for spec in study["weightings"].values()}
    study["selectors"] = {key: spec for key, spec in study["selectors"].items() if key in kept}
    study.setdefault("target", None)
    if study["target"]:
        # YAML reads groups that are numbers as numbers; groups are texts in all files.
        named = {str(group): share for group, share in study["target"].items()}
        if len(named) < len(study["target"]):
            raise CounterweightError(
                f"studies.{name}.target names a group twice, as a number and as text "
                f"({listed(study['target'])}): leave one of them out."
            )
        study["target"] = named
    given = study.setdefault("filter", None)
    if given is None:
        return
    if given["method"] not in methods:
        raise CounterweightError(
            f"studies.{name}.filter.method is {given['method']!r}, which is none of its methods"
            f"{nearest(given['method'], methods) or '.'} Methods: {', '.join(methods)}."
        )
    if given["repeat"] >= study["repeats"]:
        raise CounterweightError(
            f"studies.{name}.filter.repeat is {given['repeat']}, and the study has the repeats 0 "
            f"to {study['repeats'] - 1}: choose one of them."
        )
    weighting = study["weightings"][methods[given["method"]]["weights"]]
    known = filter_settings(
        study["selectors"][weighting["selector"]]["options"], weighting["options"]
    )
    if given["setting"] not in known:
        words = listed([repr(setting) for setting in known], 30)
        raise CounterweightError(
            f"studies.{name}.filter.setting is {given['setting']!r}, which {given['method']} does "
            f"not have{nearest(given['setting'], known) or '.'} Its settings: {words}."
        )


def filter_settings(proxy, weighting):
    """Settings of a method by the options of its proxy and of its weighting.

    A proxy over a grid has one for each alpha; another has one for each eta of the weighting,
    or the one setting "" without any.
    """
    name, values = "alpha", proxy.get("alphas")
    if values is None:
        name, values = "eta", weighting.get("etas", ())
    return [f"{name}={round(float(value), 10):g}" for value in values] or [""]


def filter_to_apply(plan):
    """Study whose filter `snakemake filter` applies: the one that the config names, or the first.

    Returns
    -------
    str or None
        None where no study gives a filter away.

    Raises
    ------
    CounterweightError
        When the study that is named gives none.
    """
    giving = [name for name, study in plan["studies"].items() if study.get("filter")]
    chosen = plan["filter_study"]
    if chosen and chosen not in giving:
        raise CounterweightError(
            f"filter_study is {chosen!r}, which is no study that gives a filter away"
            f"{nearest(chosen, giving) or '.'} Studies with the key filter: "
            f"{', '.join(giving) or 'none'}."
        )
    return chosen or next(iter(giving), None)
