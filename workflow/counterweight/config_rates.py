"""Texts about rates in a config, checked before anything runs."""

from counterweight import components
from counterweight.errors import CounterweightError
from counterweight.rates.language import BUILTIN_SETS, check_set, check_text

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
    sets = [*components.declared("labeling", rule, "SAMPLES", []), *study["samples"]]
    taken = sorted(set(study["samples"]) & set(BUILTIN_SETS))
    if taken:
        raise CounterweightError(
            f"studies.{name}.samples names {taken[0]!r}, which every study has: choose another "
            "name."
        )
    numbers = set()
    for identity, method in study["methods"].items():
        given = {
            option
            for option, value in method["options"].items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        given |= set(method["sweep"] or {})
        numbers |= given
        declared = components.options("model", method["model"])
        for option, constraint in TEXTS.items():
            if option in declared:
                value = method["options"][option]
                for text in [value] if isinstance(value, str) else value or []:
                    where = f"studies.{name}.models, {identity}, {option}"
                    _told(
                        where, check_text, text, constraint=constraint, sets=sets, parameters=given
                    )
        if "groups" in declared:
            for group in method["options"]["groups"] or []:
                where = f"studies.{name}.models, {identity}, groups"
                _told(where, check_set, group, [*BUILTIN_SETS, *sets])
    for measure, text in (study["evaluation"]["options"].get("measures") or {}).items():
        where = f"studies.{name}.evaluation.measures.{measure}"
        _told(where, check_text, text, sets=sets, parameters=numbers)


def _told(where, check, *given, **asked):
    try:
        check(*given, **asked)
    except CounterweightError as error:
        raise CounterweightError(f"{where}: {error}") from error
