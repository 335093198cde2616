"""Expressions of rates on named data sets, read from text.

::

    constraint = expression ("<=" | ">=") expression  |  shorthand "(" arguments ")"
    expression = term (("+" | "-") term)*
    term       = factor (("*" | "/") factor)*
    factor     = "-" factor | number | parameter | "(" expression ")"
               | rate "(" set ["," "deployed" | "," number] ")"
    arguments  = set ("," set)* [("," | ";") level ["," tolerance]]
    set        = part ("|" part)*            either
    part       = name ("&" name)*            both

`RATES` names the rates (Table 2 of Goh, Cotter, Gupta & Friedlander 2016, its misprints
repaired), `SHORTHANDS` the constraints that stand for one or more plain ones. A rate with
``deployed_`` before its name is that rate of the deployed model: a number, not a rate of the
model in training. ``wins(d, deployed)`` is ``wins(d)``; ``fmeasure(d, 2)`` is F_2. Parameters are
numbers that are known by a name, e.g. ``kappa``. Shorthands between groups take two or more of
them and a level, e.g. ``parity(a, b, c, 0.8)``; a level that is a name other than kappa and target
stands after a semicolon: ``parity(a, b, c; rho)``. A tolerance t behind the level is a difference
that rates may have beside: ``parity(a, b, 1, 0.02)`` is ``coverage(a) >= 1 * coverage(b) - 0.02``
and the same the other way round.
"""

import difflib
import itertools
import math
import re
from dataclasses import dataclass
from typing import NamedTuple

from counterweight.errors import CounterweightError


class Kind(NamedTuple):
    """What a rate needs of the rows of its data set, and the most that it may be; least is 0."""

    labels: bool
    deployed: bool
    meaning: str
    most: float = 1.0


RATES = {
    "coverage": Kind(False, False, "share of positive predictions, s_p(D)"),
    "negative_rate": Kind(False, False, "share of negative predictions, s_n(D)"),
    "error": Kind(True, False, "errors / labeled rows"),
    "accuracy": Kind(True, False, "1 - error"),
    "recall": Kind(True, False, "true positives / positives, s_p(D+)"),
    "false_negative_rate": Kind(True, False, "false negatives / positives, s_n(D+)"),
    "false_positive_rate": Kind(True, False, "false positives / negatives, s_p(D-)"),
    "true_negative_rate": Kind(True, False, "true negatives / negatives, s_n(D-)"),
    "precision": Kind(True, False, "true positives / positive predictions"),
    "fmeasure": Kind(True, False, "(1 + b^2) TP / ((1 + b^2) TP + FP + b^2 FN), b = 1 by default"),
    "true_positives": Kind(True, False, "count, |D+| s_p(D+)", math.inf),
    "true_negatives": Kind(True, False, "count, |D-| s_n(D-)", math.inf),
    "false_positives": Kind(True, False, "count, |D-| s_p(D-)", math.inf),
    "false_negatives": Kind(True, False, "count, |D+| s_n(D+)", math.inf),
    "errors": Kind(True, False, "count, false positives + false negatives", math.inf),
    "churn": Kind(False, True, "changes / rows"),
    "changes": Kind(
        False, True, "count of predictions that differ from the deployed model's", math.inf
    ),
    "wins": Kind(True, True, "count: right where the deployed model is wrong", math.inf),
    "losses": Kind(True, True, "count: wrong where the deployed model is right", math.inf),
    "win_rate": Kind(True, True, "wins / labeled rows"),
    "loss_rate": Kind(True, True, "losses / labeled rows"),
}
ALIASES = {
    "positive_rate": "coverage",
    "error_rate": "error",
    "true_positive_rate": "recall",
    "sensitivity": "recall",
    "specificity": "true_negative_rate",
    "churn_rate": "churn",
    "f1": "fmeasure",
    "f1_score": "fmeasure",
}
#: Names that are numbers wherever they stand.
PARAMETERS = ("kappa", "target")


class Shorthand(NamedTuple):
    """A constraint that stands for plain ones.

    ``sets`` are the data sets of its ``lines``, by a letter each; with `groups`, any number of
    two or more may be given, and the lines are there for every ordered pair (a, b) of them.
    ``level`` is the kind of number k that follows, a key of `LEVELS`, or None.
    """

    sets: str
    level: str | None
    lines: tuple
    groups: bool = False

    @property
    def may_be_left_out(self):
        """Whether the level is 1 where none is given."""
        return self.level == "ratio"


def _between_groups(*rates, level="ratio", k="{k}"):
    lines = tuple(f"{rate}({{a}}) >= {k} * {rate}({{b}})" for rate in rates)
    return Shorthand("ab", level, lines, groups=True)


SHORTHANDS = {
    "fairness": Shorthand("ab", "positive", ("coverage({a}) >= {k} * coverage({b})",)),
    "demographic_parity": _between_groups("coverage"),
    "four_fifths": _between_groups("coverage", level=None, k="0.8"),
    "equal_opportunity": _between_groups("recall"),
    "equalised_odds": _between_groups("recall", "false_positive_rate"),
    "egregious_positives": Shorthand("d", "share", ("recall({d}) >= {k}",)),
    "egregious_negatives": Shorthand("d", "share", ("true_negative_rate({d}) >= {k}",)),
    "egregious": Shorthand("d", "share", ("recall({d}) >= {k}", "true_negative_rate({d}) >= {k}")),
    "neyman_pearson": Shorthand("d", "share", ("false_positive_rate({d}) <= {k}",)),
    "stability": Shorthand("d", "share", ("churn({d}) <= {k}",)),
}
SHORTHANDS["parity"] = SHORTHANDS["demographic_parity"]
SHORTHANDS["equalized_odds"] = SHORTHANDS["equalised_odds"]
LEVELS = {
    "positive": (lambda k: k > 0, "above 0"),
    "ratio": (lambda k: 0 < k <= 1, "above 0 and at most 1"),
    "share": (lambda k: 0 <= k <= 1, "between 0 and 1"),
}


class UndefinedRate(CounterweightError):
    """A data set lacks the rows, labels or scores that a rate needs."""


BUILTIN_SETS = ("labeled", "unlabeled", "everyone")
MOST_TOKENS = 2000
MOST_DEPTH = 50

_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|!=|[<>=≤≥+\-*/(),;&|])|(?P<strange>\S))"
)


@dataclass(frozen=True)
class Number:
    """A number as written."""

    value: float


@dataclass(frozen=True)
class Parameter:
    """A number known by a name."""

    name: str


@dataclass(frozen=True)
class Rate:
    """A rate on a data set; of the deployed model where `deployed` is true.

    ``sets`` holds alternatives, each a tuple of names that are all asked for. `beta` is that of
    F_beta: how many times as much recall counts as precision.
    """

    name: str
    sets: tuple
    deployed: bool = False
    beta: float = 1.0

    def __str__(self):
        beta = "" if self.beta == 1 else f", {self.beta:g}"
        return f"{'deployed_' if self.deployed else ''}{self.name}({set_text(self.sets)}{beta})"

    @property
    def counted(self):
        """What a ratio of predictions is made of, by count: factors above and below the line.

        Nothing for other rates: what they are a share of does not hang on the predictions.
        """
        if self.name == "precision":
            return {"true_positives": (1.0, 1.0), "false_positives": (0.0, 1.0)}
        if self.name != "fmeasure":
            return {}
        b = self.beta**2
        above = {"true_positives": (1.0 + b, 1.0 + b)}
        return above | {"false_positives": (0.0, 1.0), "false_negatives": (0.0, b)}


@dataclass(frozen=True)
class Operation:
    """``+``, ``-``, ``*`` or ``/`` of two expressions."""

    sign: str
    left: object
    right: object


@dataclass(frozen=True)
class Constraint:
    """``left sign right``, as written in `text`.

    `levels` holds (expression, key of `LEVELS`) of the numbers that a shorthand was given.
    """

    left: object
    sign: str
    right: object
    text: str
    levels: tuple = ()


def set_text(sets):
    """A data set as the language writes it."""
    return " | ".join(" & ".join(part) for part in sets)


def nearest(word, words):
    """``; did you mean x`` for the nearest of `words`, or nothing."""
    close = difflib.get_close_matches(word.lower(), list(words), 1, 0.6)
    return f"; did you mean {close[0]}" if close else ""


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text):
        if not isinstance(text, str):
            raise CounterweightError(
                f"An expression of rates is text such as 'coverage(everyone)', not {text!r}."
            )
        self.text, self.tokens, self.at, self.depth = text, [], 0, 0
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup
            word, start = match[kind], match.start(kind)
            if kind == "strange":
                self.fail(f"{word!r} has no meaning here", start)
            self.tokens.append((kind, word, start))
            if len(self.tokens) > MOST_TOKENS:
                raise CounterweightError(
                    f"An expression of more than {MOST_TOKENS} words and signs is too long: "
                    f"{text[:60]!r} ..."
                )
        self.tokens.append(("end", "the end", len(text.rstrip())))

    def fail(self, problem, position=None):
        """Raise with the position counted from 1."""
        position = self.tokens[self.at][2] if position is None else position
        raise CounterweightError(f"In {self.text!r}, position {position + 1}: {problem}.")

    def peek(self):
        return self.tokens[self.at][1] if self.tokens[self.at][0] == "sign" else None

    def take(self, *signs):
        """The next sign if it is one of these, else None."""
        sign = self.peek()
        if sign not in signs:
            return None
        self.at += 1
        return sign

    def need(self, sign, where):
        if not self.take(sign):
            self.fail(f"expected {sign!r} {where}, found {self.tokens[self.at][1]!r}")

    def name(self, what):
        kind, word, _ = self.tokens[self.at]
        if kind != "name":
            self.fail(f"expected {what}, found {word!r}")
        self.at += 1
        return word

    def end(self):
        kind, word, _ = self.tokens[self.at]
        if kind != "end":
            self.fail(f"expected an operator or the end, found {word!r}")

    def span(self, tree):
        """The least and the most that an expression may be, by what it is made of alone.

        Fails at a number that has no end, and where it is divided by nothing.
        """
        if isinstance(tree, Number):
            if math.isinf(tree.value):
                self.fail("a number is too large to be one", 0)
            return tree.value, tree.value
        if isinstance(tree, Rate):
            return 0.0, RATES[tree.name].most
        if not isinstance(tree, Operation):
            return -math.inf, math.inf
        left, right = self.span(tree.left), self.span(tree.right)
        if tree.sign == "/":
            if right == (0.0, 0.0):
                self.fail("it divides by 0", 0)
            if right[0] <= 0 <= right[1]:
                return -math.inf, math.inf
            right = 1 / right[1], 1 / right[0]
        if tree.sign == "-":
            right = -right[1], -right[0]
        if tree.sign in "+-":
            ends = left[0] + right[0], left[1] + right[1]
        else:
            # Nothing of what has no end is nothing.
            ends = [one * other if one and other else 0.0 for one in left for other in right]
        known = not any(True for _ in nodes(tree, (Rate, Parameter)))
        if known and math.isinf(max(map(abs, ends))):
            self.fail("a number is too large to be one", 0)
        return min(ends), max(ends)

    def expression(self):
        return self.chain("+-", lambda: self.chain("*/", self.factor))

    def chain(self, signs, part):
        """Parts joined by operators of one rank, from the left."""
        left = part()
        while sign := self.take(*signs):
            left = Operation(sign, left, part())
        return left

    def factor(self):
        kind, word, position = self.tokens[self.at]
        if sign := self.take("-", "("):
            self.depth += 1
            if self.depth > MOST_DEPTH:
                self.fail(f"brackets and signs are nested more than {MOST_DEPTH} deep")
            if sign == "-":
                inside = Operation("-", Number(0.0), self.factor())
            else:
                inside = self.expression()
                self.need(")", "to close the bracket")
            self.depth -= 1
            return inside
        if kind == "number":
            self.at += 1
            return Number(float(word))
        if kind != "name":
            self.fail(f"expected a rate, a number or a parameter, found {word!r}")
        self.at += 1
        if self.peek() == "(":
            return self.rate(word, position)
        if _plain_name(word)[0] in RATES:
            self.fail(f"{word} needs a data set: {word}(everyone), for instance", position)
        return Parameter(word)

    def rate(self, word, position):
        plain, deployed = _plain_name(word)
        if plain not in RATES:
            if word in SHORTHANDS:
                self.fail(f"{word} is a whole constraint and cannot be part of another", position)
            hint = nearest(word, [*RATES, *ALIASES, *SHORTHANDS])
            self.fail(f"there is no rate {word!r}{hint} (rates: {', '.join(RATES)})", position)
        if deployed and RATES[plain].deployed:
            self.fail(f"{plain} compares with the deployed model, so it is not its own", position)
        self.need("(", f"after {word}")
        sets, beta = self.sets(), 1.0
        if self.take(","):
            kind, told, _ = self.tokens[self.at]
            if plain == "fmeasure" and kind == "number" and float(told) > 0:
                beta = float(told)
            elif not (RATES[plain].deployed and told == "deployed"):
                more = ", and beta, a number above 0" if plain == "fmeasure" else ""
                self.fail(f"{word} takes one data set{more}; join sets by & (both) or | (either)")
            self.at += 1
        self.need(")", f"after the data set of {word}")
        return Rate(plain, sets, deployed, beta)

    def another_set(self, level):
        """Whether a comma and a further group follow, and no level."""
        if self.peek() != ",":
            return False
        (kind, word, _), (_, after, _), *_ = [*self.tokens[self.at + 1 :], self.tokens[-1]]
        if not level or kind != "name":
            return kind == "name"
        return word not in PARAMETERS and after in (",", ";", ")", "&", "|")

    def sets(self):
        def joined(sign, part):
            found = [part()]
            while self.take(sign):
                found.append(part())
            return tuple(found)

        return joined("|", lambda: joined("&", lambda: self.name("the name of a data set")))


def _plain_name(word):
    """The rate's own name, and whether the deployed model's is meant."""
    plain = word.removeprefix("deployed_")
    return ALIASES.get(plain, plain), plain != word


def parse_expression(text):
    """Read an expression of rates, e.g. ``error(d1) + 2 * false_positive_rate(d2)``.

    Gives a Number, Parameter, Rate or Operation. Raises with the position of what cannot be read,
    or of a rate that does not exist.
    """
    reader = _Reader(text)
    tree = reader.expression()
    if reader.peek() in ("<=", ">=", "==", "<", ">", "=", "!="):
        reader.fail("a comparison is a constraint; an objective or a measure has none")
    reader.end()
    reader.span(tree)
    return tree


def parse_constraint(text):
    """Read a constraint; a shorthand gives the plain constraints that it stands for, a list.

    E.g. ``coverage(a) <= coverage(b) / kappa`` or ``equal_opportunity(a, b, 0.9)``. Raises as
    `parse_expression`; also for ``==``, strict or chained comparisons, and shorthands with the
    wrong arguments.
    """
    reader = _Reader(text)
    kind, word, _ = reader.tokens[0]
    if kind == "name" and word in SHORTHANDS:
        return _expanded(reader)
    left = reader.expression()
    sign = reader.take("<=", ">=", "==", "=", "!=", "<", ">", "≤", "≥")
    at = reader.tokens[max(reader.at - 1, 0)][2]
    if sign in ("==", "=", "!="):
        reader.fail(
            f"{sign} cannot be asked for: give two constraints with a margin, "
            "... <= value + margin and ... >= value - margin",
            at,
        )
    if sign in ("<", ">"):
        reader.fail(f"write {sign}= in place of {sign}", at)
    if sign is None:
        reader.fail(f"expected <= or >=, found {reader.tokens[reader.at][1]!r}")
    right = reader.expression()
    if reader.peek() and reader.peek()[0] in "<>=≤≥":
        reader.fail("one comparison in each constraint: write two constraints")
    reader.end()
    sign = {"≤": "<=", "≥": ">="}.get(sign, sign)
    if not (any(rates(left)) or any(rates(right))):
        reader.fail("a constraint needs a rate of the model, and there is none", 0)
    if _cancelled(left, right):
        reader.fail("the rates cancel out, so there is nothing to ask for", 0)
    (least, most), (low, high) = reader.span(left), reader.span(right)
    if least > high if sign == "<=" else most < low:
        reader.fail("no decisions can keep it: shares are between 0 and 1, .8 for 80 %", 0)
    return [Constraint(left, sign, right, text.strip())]


def _unknown(leaf):
    """An end of an expression where parameters and rates of the deployed model have no value
    yet."""
    if isinstance(leaf, Number):
        return leaf.value, {}
    return (0.0, {leaf: 1.0}) if isinstance(leaf, Rate) and not leaf.deployed else (math.nan, {})


def _cancelled(left, right):
    """Whether no rate is left of a difference whose factors are numbers."""
    try:
        return not any(linear(Operation("-", left, right), _unknown)[1].values())
    except CounterweightError:
        return False  # products and ratios of rates


def linear(tree, leaf):
    """An expression as a number plus a dict of factors of rates.

    `leaf` gives both of a Number, Parameter or Rate. Raises for products and ratios of rates, and
    for division by 0.
    """
    if not isinstance(tree, Operation):
        return leaf(tree)
    (constant, terms), (other, more) = linear(tree.left, leaf), linear(tree.right, leaf)
    if tree.sign in "+-":
        sign = 1.0 if tree.sign == "+" else -1.0
        merged = dict(terms)
        for rate, value in more.items():
            merged[rate] = merged.get(rate, 0.0) + sign * value
        return constant + sign * other, merged
    if tree.sign == "/":
        if more:
            raise CounterweightError(
                f"Dividing by the rate {next(iter(more))} is for measures only: multiply the "
                "constraint out, e.g. coverage(a) <= 1.25 * coverage(b)."
            )
        if other == 0:
            raise CounterweightError("An expression divides by 0.")
        return constant / other, {rate: value / other for rate, value in terms.items()}
    if terms and more:
        raise CounterweightError(
            f"The product of the rates {next(iter(terms))} and {next(iter(more))} cannot be "
            "trained for: rates may be added, and multiplied by numbers."
        )
    factor, scaled = (constant, more) if more else (other, terms)
    return constant * other, {rate: value * factor for rate, value in scaled.items()}


def _expanded(reader):
    """The plain constraints of a shorthand."""
    word = reader.name("a shorthand")
    short = SHORTHANDS[word]
    told = "set, set, ..." if short.groups else ", ".join(["set"] * len(short.sets))
    usage = f"{word}({told}{', level' if short.level else ''})"
    reader.need("(", f"after {word}, as in {usage}")
    sets, k, levels, tolerance = [set_text(reader.sets())], "1", [], ""
    while len(sets) < len(short.sets) or (short.groups and reader.another_set(short.level)):
        reader.need(",", f"as in {usage}")
        start = reader.tokens[reader.at][2]
        sets.append(set_text(reader.sets()))
        if short.groups and sets[-1] in sets[:-1]:
            reader.fail(f"{sets[-1]} is named twice in {word}", start)
    if short.level and not (short.may_be_left_out and reader.peek() == ")"):
        if not reader.take(";"):
            reader.need(",", f"as in {usage}")
        start = reader.tokens[reader.at][2]
        tree = reader.expression()
        if any(True for _ in nodes(tree, Rate)):
            reader.fail("the level of a shorthand is a number or a parameter", start)
        source = reader.text[start : reader.tokens[reader.at][2]].strip()
        k = f"({source})" if isinstance(tree, Operation) else source
        levels.append((tree, short.level))
        if short.groups and reader.take(","):
            start = reader.tokens[reader.at][2]
            tree = reader.expression()
            if any(True for _ in nodes(tree, Rate)):
                reader.fail("the tolerance of a shorthand is a number or a parameter", start)
            source = reader.text[start : reader.tokens[reader.at][2]].strip()
            tolerance = f" - ({source})" if isinstance(tree, Operation) else f" - {source}"
            levels.append((tree, "share"))
    reader.need(")", f"as in {usage}")
    reader.end()
    pairs = itertools.permutations(sets, 2) if short.groups else [sets]
    given = [dict(zip(short.sets, pair, strict=True)) for pair in pairs]
    lines = [line.format(**one, k=k) + tolerance for line in short.lines for one in given]
    plain = [parse_constraint(line)[0] for line in lines]
    return [Constraint(c.left, c.sign, c.right, c.text, tuple(levels)) for c in plain]


def slackened(text, slack):
    """A constraint as plain ones, each of which may be missed by `slack` in units of its sides."""
    if not slack:
        return [text]
    signs = {"<=": "+", ">=": "-"}
    return [f"{plain.text} {signs[plain.sign]} {slack:g}" for plain in parse_constraint(text)]


def nodes(tree, kind):
    """Every node of a kind (`Rate`, `Parameter` ...) in an expression."""
    if isinstance(tree, Operation):
        yield from nodes(tree.left, kind)
        yield from nodes(tree.right, kind)
    elif isinstance(tree, kind):
        yield tree


def rates(tree):
    """Every rate of the model in training (not the deployed one's) in an expression."""
    return (rate for rate in nodes(tree, Rate) if not rate.deployed)


def is_name(name):
    """Whether the language can read a text as the name of a data set."""
    return isinstance(name, str) and re.fullmatch(r"[^\W\d]\w*", name) is not None


def check_set(name, known, where=""):
    """Raise unless the data set is known."""
    if name not in known:
        raise CounterweightError(
            f"There is no data set {name!r}{where}{nearest(name, known)} "
            f"(known: {', '.join(known)})."
        )


def check_parameter(name, known, where=""):
    """Raise unless the parameter has a value."""
    known = list(known)
    if name not in known:
        given = f"parameters with a value: {', '.join(known)}" if known else "none is given"
        raise CounterweightError(
            f"{name!r} has no value{where}{nearest(name, known)}: give the option {name}, or "
            f"write a number or a rate with its data set in brackets ({given})."
        )


def check_text(text, *, constraint=False, trained=False, sets=None, parameters=None):
    """Check one text of a config before anything runs.

    It must be a constraint if `constraint`, else an expression; if `trained`, a model is trained
    for it, so that rates may not be multiplied or divided by. `sets` are names of the study's data
    sets (the built-in ones are always known), `parameters` of those that have a value; None: any.
    """
    if constraint:
        for level, kind in (level for c in parse_constraint(text) for level in c.levels):
            holds, asked = LEVELS[kind]
            low, high = _Reader(text).span(level)
            if low == high and not holds(low):
                raise CounterweightError(f"In {text!r}: the level must be {asked}, not {low:g}.")
        trees = [side for c in parse_constraint(text) for side in (c.left, c.right)]
    else:
        trees = [parse_expression(text)]
    for tree in trees:
        if trained:
            try:
                linear(tree, _unknown)
            except CounterweightError as error:
                raise CounterweightError(f"In {text!r}: {error}") from error
        for rate in nodes(tree, Rate) if sets is not None else ():
            for name in (name for part in rate.sets for name in part):
                check_set(name, [*BUILTIN_SETS, *sets], f" ({text!r})")
        for parameter in nodes(tree, Parameter) if parameters is not None else ():
            check_parameter(parameter.name, parameters, f" ({text!r})")
