"""What is known of each measure of a study: label, unit, direction, meaning, for the report.

The metrics of the stages and protocols stand in one table, `TABLE`; a component may declare more
beside itself (`MEASURES`). A rate that the config measures is told by its expression, never by the
name that it was given. The config has the last word. Texts about rates are checked before anything
runs.
"""

import contextlib
import csv
import functools
import re

from counterweight.errors import CounterweightError, listed
from counterweight.numerics.rates.language import (
    BUILTIN_SETS,
    PARAMETERS,
    Operation,
    Parameter,
    Rate,
    check_set,
    check_text,
    nearest,
    nodes,
    parse_constraint,
    parse_expression,
    set_text,
)
from counterweight.plan import components

#: Rates that are shares: whether more or less is better, and what they measure.
RATES = {
    "coverage": ("", "Share of rows that get the positive answer"),
    "negative_rate": ("", "Share of rows that get the negative answer"),
    "error": ("less", "Share of rows that get the wrong answer"),
    "accuracy": ("more", "Share of rows that get the right answer"),
    "recall": ("more", "Share of the positive rows that get the positive answer"),
    "false_negative_rate": ("less", "Share of the positive rows that get the negative answer"),
    "false_positive_rate": ("less", "Share of the negative rows that get the positive answer"),
    "true_negative_rate": ("more", "Share of the negative rows that get the negative answer"),
    "precision": ("more", "Share of the positive answers that are right"),
    "fmeasure": ("more", "Harmonic mean of precision and recall"),
    "churn": ("less", "Share of rows that get another answer than from the deployed model"),
    "win_rate": ("more", "Share of rows that are right where the deployed model is wrong"),
    "loss_rate": ("less", "Share of rows that are wrong where the deployed model is right"),
}
#: Rates that count rows, and what is better.
COUNTS = dict.fromkeys(("true_positives", "true_negatives", "wins"), "more") | dict.fromkeys(
    ("false_positives", "false_negatives", "errors", "changes", "losses"), "less"
)
#: Metrics that the protocol of rates takes of each measure; ``{}`` is the measure.
OF_RATE = {
    "deterministic": ("deterministic {}", "By the sign of the score."),
    "randomised": ("randomised {}", "By a coin where the score is near the boundary."),
    "deployed": ("{} of the deployed model", "Of the model that is in use so far."),
    "gap": ("test minus training value of the randomised {}", "What does not carry over."),
}


#: All measures of stages and protocols, a line each.
TABLE = components.PACKAGE / "reporting" / "measures.csv"


@functools.lru_cache(None)
def table():
    """What `TABLE` says, by kind of component, or kind and name, and by metric."""
    told = {}
    with open(TABLE, encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            entry = _entry(line)
            for whose in line["of"].split(" & "):
                _add(told.setdefault(whose, {}), {line["measure"]: entry}, TABLE.name)
    return told


def _entry(line):
    """Fields of a measure that a line of the table gives."""
    entry = {key: line[key] for key in ("label", "unit", "better", "meaning") if line[key]}
    entry |= {key: True for key in ("percent", "counted") if line[key]}
    if line["digits"]:
        entry["digits"] = int(line["digits"])
    if line["bounds"]:
        ends = line["bounds"].split("..")
        entry["bounds"] = [float(end) if end else None for end in ends]
    return entry | ({"ends": line["ends"].split()} if line["ends"] else {})


@functools.lru_cache(None)
def shared():
    """What the stages and protocols declare, by metric; none in two ways."""
    merged = {}
    for told in table().values():
        _add(merged, told, TABLE.name)
    return merged


def _add(merged, more, where):
    for metric, entry in more.items():
        if merged.setdefault(metric, entry) != entry:
            raise CounterweightError(
                f"{where} declares the metric {metric!r} again, with something else: keep one of "
                "the two, or give the metric another name."
            )


def of_study(study, metrics):
    """What is known of each measure of a study, by metric: fields of `wording.Measure`.

    Metrics of a rate stand under ``metric of measure``.
    """
    known = {}
    for kind, name in _components(study, metrics):
        for key in (kind, f"{kind} {name}"):
            _add(known, table().get(key, {}), TABLE.name)
        _add(known, components.declared(kind, name, "MEASURES", {}), f"The {kind} {name}")
    known |= of_rates(study)
    for measure, given in study["measures"].items():
        # A metric, or a rate of the study, of which there are several metrics.
        several = [metric for metric in known if metric.endswith(f" of {measure}")]
        for metric in several or [measure]:
            entry = known.get(metric) or {"label": measure.replace("_", " ")}
            known[metric] = entry | given
            if several and "label" in given:
                known[metric]["label"] = _of_rate(metric, given["label"], study)
    return known


#: What a section of a page may say; see ``docs/extending.md``.
SECTION = {"columns", "lines", "target", "stands", "first", "note", "fold", "best", "form"}


def sections_of(study, metrics):
    """What components of a study bring to its page (`SECTIONS`), by caption, in their order."""
    known = {}
    for kind, name in _components(study, metrics):
        for caption, said in components.declared(kind, name, "SECTIONS", {}).items():
            if not said.keys() <= SECTION or not said.get("columns"):
                raise CounterweightError(
                    f"The {kind} {name} declares the section {caption!r} with {listed(said)}: it "
                    f"needs columns, and may have {listed(sorted(SECTION - {'columns'}))}."
                )
            known.setdefault(caption, said)
    return known


def _components(study, metrics):
    yield from (("metric", metric) for metric in metrics)
    yield "protocol", study["evaluation"]["protocol"]
    yield "labeling", study["labeling"]["rule"]
    yield "outcome", study["outcome"]["rule"]
    yield from {("selector", one["selector"]): 0 for one in study["selectors"].values()}
    yield from {("weighting", one["weighting"]): 0 for one in study["weightings"].values()}
    yield from {("model", one["model"]): 0 for one in study["methods"].values()}


def rates_of(study):
    """Texts of the rates that a study measures, by name."""
    return study["evaluation"]["options"].get("measures") or {}


def of_rates(study):
    """Metrics of the rates that a study measures, told by their expressions."""
    told = {}
    for name, text in rates_of(study).items():
        tree = parse_expression(text)
        label, fields = label_of(tree, text), fields_of(tree)
        meaning = meaning_of(tree, text)
        for metric, (words, sense) in OF_RATE.items():
            entry = fields | {"label": words.format(label), "meaning": f"{meaning}. {sense}"}
            if metric == "gap":
                entry["better"] = ""
                share = fields.get("unit") == "share"
                entry["bounds"] = [-1, 1] if share else [None, None]
            told[f"{metric} of {name}"] = entry
        if _equal(study):
            for rule in ("deterministic", "randomised"):
                metric = f"{rule}_at_equal of {name}"
                told[metric] = fields | {
                    "label": _of_rate(metric, label, study),
                    "meaning": f"{meaning}, where methods come to the same value of another "
                    "measure.",
                }
    return told


def of_any_rates(rates):
    """As `of_rates`, for rates by name whose study is not part of the run.

    A text that cannot be read is left out: nobody has checked it.
    """
    told = {}
    for name, text in rates.items():
        study = {"evaluation": {"options": {"measures": {name: text}}}, "measures": {}}
        with contextlib.suppress(CounterweightError):
            told |= of_rates(study)
    return told


def _equal(study):
    """Label of the measure at equal values of which methods are compared; "" for none."""
    equal = study["evaluation"]["options"].get("equal")
    if not equal or not rates_of(study):
        return ""
    return measure_labels(study)[equal["measure"]]


def _of_rate(name, label, study):
    """Label of a metric of a measure, from the label of the measure."""
    metric = name.partition(" of ")[0]
    if metric.endswith("_at_equal"):
        return f"{metric.removesuffix('_at_equal')} {label} at equal {_equal(study)}"
    return OF_RATE[metric][0].format(label) if metric in OF_RATE else label


def measure_labels(study):
    """Rates of a study in print, by name: as the config says, else by the expression."""
    given = study["measures"]
    return {
        name: given.get(name, {}).get("label") or label_of(parse_expression(text), text)
        for name, text in rates_of(study).items()
    }


def _where(rate):
    """Data set of a rate in words; "" for everyone."""
    if rate.sets == (("everyone",),):
        return ""
    return set_text(rate.sets).replace(" | ", " or ").replace(" & ", " and ").replace("_", " ")


def label_of(tree, text):
    """An expression in print: ``recall on d2``, ``coverage ratio, male to female``, or its text."""
    if isinstance(tree, Rate):
        where = _where(tree)
        label = ("deployed " if tree.deployed else "") + tree.name.replace("_", " ")
        return f"{label} on {where}" if where else label
    pair = [getattr(tree, side, None) for side in ("left", "right")]
    if all(isinstance(side, Rate) for side in pair) and pair[0].name == pair[1].name:
        word = {"/": "ratio", "-": "difference"}.get(tree.sign)
        joint = "to" if word == "ratio" else "minus"
        names = [_where(side) or "everyone" for side in pair]
        if word and not any(side.deployed for side in pair):
            return f"{pair[0].name.replace('_', ' ')} {word}, {names[0]} {joint} {names[1]}"
    return text


def meaning_of(tree, text):
    """What an expression measures, without a stop at the end."""
    if isinstance(tree, Rate):
        meaning = RATES.get(tree.name, ("", tree.name.replace("_", " ").capitalize()))[1]
        where = _where(tree)
        return f"{meaning}, on {where}" if where else meaning
    terms = {
        rate.name: f"{rate.name.replace('_', ' ')}: {said[0].lower()}{said[1:]}"
        for rate in nodes(tree, Rate)
        if (said := RATES.get(rate.name, ("", ""))[1])
    }
    return "; ".join([f"The value of {text}", *terms.values()])


def fields_of(tree):
    """Unit, direction and bounds of an expression: a rate is a share, a ratio a plain number."""
    if isinstance(tree, Rate):
        if tree.name in COUNTS:
            return {"unit": "rows", "better": COUNTS[tree.name], "digits": 0}
        return {"unit": "share", "percent": True, "better": RATES.get(tree.name, ("",))[0]}
    if isinstance(tree, Operation):
        sides = [fields_of(side) for side in (tree.left, tree.right)]
        shares = all(side.get("unit") == "share" for side in sides)
        if tree.sign == "-" and shares:
            return {"unit": "share", "percent": True, "better": "", "bounds": [-1, 1]}
        if tree.sign == "/" and all(isinstance(side, Rate) for side in (tree.left, tree.right)):
            return {"unit": "", "better": "", "bounds": [0, None]}
        if tree.sign == "+" and shares and sides[0]["better"] == sides[1]["better"]:
            return {"unit": "", "better": sides[0]["better"]}
    return {"unit": "", "better": ""}


def asked_of(study):
    """What the sweeps of a study ask of one of its measures, read from the constraints.

    ``L <= R / option`` asks that the measure ``L / R`` be at most the inverse of the option, ``L <=
    option`` and ``L >= option`` ask for the measure ``L`` itself. ``measure``, ``option`` and
    ``form`` of the first that fits; None where nothing is asked of a measure.
    """
    trees = {name: parse_expression(text) for name, text in rates_of(study).items()}
    for method in study["methods"].values():
        texts = method["options"].get("constraints") or []
        texts = [texts] if isinstance(texts, str) else [*texts]
        if one := method["options"].get("constraint"):
            texts.append(one)
        for constraint in (one for text in texts for one in parse_constraint(text)):
            tree, option, form = _asked_by(constraint)
            for name in (name for name, known in trees.items() if known == tree):
                return {"measure": name, "option": option, "form": form}
    return None


def _asked_by(constraint):
    """Expression, option and form of what a constraint asks; None for other constraints.

    ``R >= option * L`` is ``L <= R / option``.
    """
    left, sign, right = constraint.left, constraint.sign, constraint.right
    if isinstance(left, Rate) and isinstance(right, Parameter):
        return left, right.name, "at_most" if sign == "<=" else "at_least"
    if isinstance(left, Rate) and isinstance(right, Operation):
        one, two = right.left, right.right
        if (sign, right.sign) == ("<=", "/") and isinstance(one, Rate):
            pair = left, one, two
        elif (sign, right.sign) == (">=", "*") and isinstance(two, Rate):
            pair = two, left, one
        else:
            return None, "", ""
        if isinstance(pair[2], Parameter):
            return Operation("/", *pair[:2]), pair[2].name, "at_most_inverse"
    return None, "", ""


#: Options of models that hold a text about rates, and whether it is a constraint.
TEXTS = {"objective": False, "constraint": True, "constraints": True}


def check_rates(name, study):
    """Refuse texts of a study that name unknown rates, data sets or parameters."""
    rule = study["labeling"]["rule"]
    made = components.declared("labeling", rule, "SAMPLES", [])
    sets = [*made, *study["samples"]]
    if twice := sorted(set(study["samples"]) & set(made)):
        raise CounterweightError(
            f"studies.{name}.samples names {twice[0]!r}, which the labeling rule {rule} makes: "
            "choose another name."
        )
    options = study["evaluation"]["options"]
    measures = options.get("measures") or {}
    # A measure is taken of every method, so it may use only what each of them sweeps.
    shared = None
    for identity, method in study["methods"].items():
        chosen, swept = method["options"], set(method["sweep"] or {})
        shared = swept if shared is None else shared & swept
        given = {
            option
            for option, value in chosen.items()
            if isinstance(value, (int, float)) and not isinstance(value, bool)
        }
        told = {"trained": True, "sets": sets, "parameters": (given | swept) & {*PARAMETERS}}
        declared = components.options("model", method["model"])
        where = f"studies.{name}.models, {identity}"
        words = {*re.findall(r"\w+", " ".join(map(str, measures.values())))}
        for option, constraint in TEXTS.items():
            texts = chosen[option] if option in declared else None
            for text in [texts] if isinstance(texts, str) else texts or []:
                _told(f"{where}, {option}", check_text, text, constraint=constraint, **told)
                words.update(re.findall(r"\w+", text))
        # Of other models they are options like any.
        named = TEXTS.keys() & declared.keys()
        for option in sorted((swept & {*PARAMETERS}) - words) if named else ():
            raise CounterweightError(
                f"{where}: the sweep varies {option}, which none of its texts names "
                f"({listed(sorted(named))}): name it there, or leave it out of the sweep."
            )
        for group in (chosen["groups"] or []) if "groups" in declared else []:
            _told(f"{where}, groups", check_set, group, [*BUILTIN_SETS, *sets])
    for measure, text in measures.items():
        where = f"studies.{name}.evaluation.measures.{measure}"
        _told(where, check_text, text, sets=sets, parameters=shared or set())
    # The constraints say what is asked of which measure, whatever it is called.
    if "asked" in options and not options["asked"]:
        options["asked"] = asked_of(study)
    for key, part in (("asked", "measure"), ("equal", "measure"), ("equal", "of")):
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
