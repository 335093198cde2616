"""Files of claims: read, checked, their mistakes told with their place."""

import difflib
from pathlib import Path

import yaml

from counterweight.errors import CounterweightError, listed
from counterweight.plan.components import schema_path

SCHEMA = schema_path("claims.schema.yaml")
#: A safe loader, in C where there is one.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _place(file, document, path):
    """Where in a claim file an error stands: the claim's id and the number of the rule."""
    path, words = list(path), [file]
    if path[:1] == ["claims"] and len(path) > 1:
        claim = document["claims"][path[1]]
        name = claim.get("id") if isinstance(claim, dict) else None
        words.append(f"claim {name}" if name else f"claim number {path[1] + 1}")
        path = path[2:]
        if path[:1] == ["decide"] and len(path) > 1:
            words.append(f"rule {path[1] + 1}")
            path = path[2:]
    if path:
        words.append(".".join(map(str, path)))
    return ", ".join(words)


def _explain(error):
    """What a schema error means, in words."""
    if error.validator == "enum":
        near = difflib.get_close_matches(str(error.instance), error.validator_value, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        return f"{error.instance!r} is not known; {hint}choose {listed(error.validator_value)}"
    if error.validator == "additionalProperties":
        allowed = error.schema["properties"]
        extra = [key for key in error.instance if key not in allowed]
        near = difflib.get_close_matches(str(extra[0]), allowed, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"the keys are {listed(allowed, 20)}"
        return f"unknown key {extra[0]!r}; {hint}"
    if error.validator == "required":
        missing = [key for key in error.validator_value if key not in error.instance]
        return f"the key {missing[0]!r} is missing; add it"
    if error.validator == "oneOf":
        return "give either 'decide' (a list of rules) or 'untestable' (a reason), not both"
    if error.validator == "anyOf":
        return f"{error.instance!r} is neither a source, a number nor a mapping"
    return error.message


def load_claims(paths):
    """Read and check claim files.

    Parameters
    ----------
    paths : iterable of str or Path

    Returns
    -------
    claims : list of dict
        Each with ``paper`` and ``title`` (of the paper) beside the keys of the file.
    printed : list of dict
        Figures in print of all files, each with ``paper``.

    Raises
    ------
    CounterweightError
        When a file is not there, is no YAML, breaks the schema, or repeats an id.
    """
    import jsonschema

    if not paths:
        return [], []
    with open(SCHEMA, encoding="utf-8") as file:
        validator = jsonschema.Draft202012Validator(yaml.load(file, _LOADER))
    claims, printed = [], []
    for path in sorted(map(Path, paths)):
        try:
            document = yaml.load(path.read_text(encoding="utf-8"), _LOADER)
        except FileNotFoundError as error:
            raise CounterweightError(
                f"The claim file {path} is not there: check the path."
            ) from error
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            line = f", line {mark.line + 1}" if mark else ""
            raise CounterweightError(f"{path}{line}: not valid YAML; correct it.") from error
        errors = sorted(validator.iter_errors(document), key=lambda e: (len(e.path), str(e.path)))
        if errors:
            place = _place(str(path), document, errors[0].absolute_path)
            raise CounterweightError(f"{place}: {_explain(errors[0])}.")
        for claim in document["claims"]:
            if any(known["id"] == claim["id"] for known in claims):
                raise CounterweightError(f"{path}: the claim id {claim['id']} is used twice.")
            claims.append({"paper": document["paper"], "title": document["title"], **claim})
        printed += [{"paper": document["paper"], **entry} for entry in document.get("printed", [])]
    return claims, printed
