"""Texts about rates in a config, checked before anything runs."""

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.rates.language import (
    BUILTIN_SETS,
    PARAMETERS,
    check_set,
    check_text,
    nearest,
)
from counterweight.plan import components
from counterweight.plan.measures import asked_of

#: Options of models that hold a text about rates, and whether it is a constraint.
TEXTS = {"objective": False, "constraint": True, "constraints": True}


def check_rates(name, study):
    """Refuse texts that name unknown rates, data sets or parameters.

    Parameters
    ----------
    name : str
    study : dict
        A resolved study.

    Raises
    ------
    CounterweightError
        The sentence of the language, after the place in the config.
    """
    rule = study["labeling"]["rule"]
    made = components.declared("labeling", rule, "SAMPLES", [])
    sets = [*made, *study["samples"]]
    taken = sorted(set(study["samples"]) & set(BUILTIN_SETS))
    if taken:
        raise CounterweightError(
            f"studies.{name}.samples names {taken[0]!r}, which every study has: choose another "
            "name."
        )
    if twice := sorted(set(study["samples"]) & set(made)):
        raise CounterweightError(
            f"studies.{name}.samples names {twice[0]!r}, which the labeling rule {rule} makes: "
            "choose another name."
        )
    swept = []
    for identity, method in study["methods"].items():
        given = {
            option
            for option, value in method["options"].items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        given = (given | set(method["sweep"] or {})) & {*PARAMETERS}
        swept.append(set(method["sweep"] or {}))
        declared = components.options("model", method["model"])
        for option, constraint in TEXTS.items():
            if option in declared:
                value = method["options"][option]
                for text in [value] if isinstance(value, str) else value or []:
                    where = f"studies.{name}.models, {identity}, {option}"
                    _told(
                        where,
                        check_text,
                        text,
                        constraint=constraint,
                        trained=True,
                        sets=sets,
                        parameters=given,
                    )
        if "groups" in declared:
            for group in method["options"]["groups"] or []:
                where = f"studies.{name}.models, {identity}, groups"
                _told(where, check_set, group, [*BUILTIN_SETS, *sets])
    options = study["evaluation"]["options"]
    measures = options.get("measures") or {}
    # A measure is taken of every method, so it may use only what each of them sweeps.
    numbers = set.intersection(*swept) if swept else set()
    for measure, text in measures.items():
        where = f"studies.{name}.evaluation.measures.{measure}"
        _told(where, check_text, text, sets=sets, parameters=numbers)
    # The constraints say what is asked of which measure, whatever it is called.
    if "asked" in options and not options["asked"]:
        options["asked"] = asked_of(study)
    for key, parts in (("asked", ("measure",)), ("equal", ("measure", "of"))):
        for part in parts:
            word = (options.get(key) or {}).get(part)
            if word is not None and word not in measures:
                raise CounterweightError(
                    f"studies.{name}.evaluation.{key}.{part} is {word!r}, which is no measure of "
                    f"the study{nearest(word, measures)} (measures: {listed(measures) or 'none'})."
                )


def _told(where, check, *given, **asked):
    try:
        check(*given, **asked)
    except CounterweightError as error:
        raise CounterweightError(f"{where}: {error}") from error
