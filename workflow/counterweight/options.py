"""Which parts there are, which fit which, and what their options allow.

``python -m counterweight.options`` says which parts make up the studies of each task;
``python -m counterweight.options model`` lists all parts of a sort with their options, and
``python -m counterweight.options tilted`` one part by its name.
"""

import json
import signal
import sys
import textwrap

from counterweight.plan import components
from counterweight.plan.mistakes import TYPES, nearest
from counterweight.plan.tasks import module_of

#: Parts that a task decides, each with its key in a study.
DECIDED = {
    "labeling": "labeling",
    "outcome": "outcome",
    "selector": "selection",
    "weighting": "weighting",
    "model": "models",
    "protocol": "evaluation",
}
#: Parts that go with every task, as far as the data have what they ask for.
FREE = {"dataset": "dataset", "features": "features", "metric": "metrics", "figure": "figures"}
BOUNDS = {
    "minimum": "from {}",
    "exclusiveMinimum": "above {}",
    "maximum": "to {}",
    "exclusiveMaximum": "below {}",
}
#: Said before parts that a task takes from another one.
BORROWED = "also, where what they need is there, of"
WIDTH = 100


def allowed(node):
    """What a JSON-schema fragment allows, such as ``number above 0``; "" where it says nothing."""
    if "enum" in node:
        return f"one of {', '.join(map(str, node['enum']))}"
    if "anyOf" in node:
        return ", or ".join(filter(None, map(allowed, node["anyOf"])))
    if "x-component" in node:
        return f"a {node['x-component']} by its name"
    if "x-component-with-options" in node:
        return "`{1}`: a {0} by its name, with its options".format(
            *node["x-component-with-options"]
        )
    kinds = node.get("type", [])
    words = []
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        text = "whole number" if kind == "integer" else TYPES.get(kind, kind)
        text = "true or false" if kind == "boolean" else text.split(" (")[0]
        if kind in ("number", "integer"):
            text = " ".join(
                [text, *(say.format(node[k]) for k, say in BOUNDS.items() if k in node)]
            )
        elif kind == "array":
            of = allowed(node.get("items", {}))
            text += f" of: {of}" if of else ""
        elif kind == "string" and node.get("pattern", "").startswith("^"):
            one_of = node["pattern"].strip("^()$")
            text = one_of.replace("|", ", ") if one_of.replace("|", "").isidentifier() else text
        words.append(text)
    return " or ".join(words)


def default_of(node, needed=True):
    """What an option is where it is left out; or that it is needed, if it has no default then."""
    if "default" not in node:
        return "needed" if needed else ""
    value = node["default"]
    return f"default {json.dumps(value, ensure_ascii=False) if value != '' else 'empty'}"


def fitting(task):
    """Names of the parts that go with a task, by part, and those that it borrows (``TAKES``)."""

    def of(part, wanted):
        # An outcome rule that declares no task goes with every one.
        default = wanted if part == "outcome" else None
        names = components.registry(part)
        return [name for name in names if components.task_of(part, name, default) == wanted]

    takes = module_of({"task": task}).TAKES
    return (
        {part: of(part, task) for part in DECIDED},
        {part: of(part, other) for part, other in takes.items()},
    )


def overview():
    """Lines that say which parts go with which task."""

    def line(key, names, before=""):
        said, begin = f"{before}{', '.join(names)}", f"  {key:<11} "
        return textwrap.wrap(said, WIDTH, initial_indent=begin, subsequent_indent=" " * 14)

    yield "A study is made of parts; its labeling rule decides which others go with it."
    for task in components.registry("task"):
        module, (own, borrowed) = module_of({"task": task}), fitting(task)
        yield f"\n{module.WORDS} ({task})"
        for part, key in DECIDED.items():
            if own[part]:
                yield from line(key, own[part])
            if borrowed.get(part):
                words = module_of({"task": module.TAKES[part]}).WORDS
                before = f"{BORROWED} {words}: "
                yield from line("" if own[part] else key, borrowed[part], before)
        if module.ROLES:
            yield from line("own table", [f"`{key}`" for key in module.ROLES], "keys ")
    yield "\nevery task, where the data have what they ask for"
    for part, key in FREE.items():
        yield from line(key, components.registry(part))
    yield "\nOptions, and what they allow: python -m counterweight.options model, or of one part"
    yield "python -m counterweight.options tilted. Sorts of parts:"
    yield f"{', '.join(components.STAGES)}."


def described(kind, names=None):
    """Lines that name the components of one sort (or those named) and describe their options."""
    yield kind
    for name in names or components.registry(kind):
        goes = words_of(kind, name)
        yield f"  {name}" + (f" (for {goes})" if goes else "")
        yield from _options(components.options(kind, name), 6)


def words_of(kind, name):
    """Which studies a part is for, in words; "" where it says nothing or goes with all."""
    default = "" if kind == "outcome" else None
    known = components.task_of(kind, name, default) if kind in DECIDED else ""
    return module_of({"task": known}).WORDS if known else ""


def _options(options, indent, needed=None):
    """A line an option; those within an option are further to the right."""
    for option, node in options.items():
        left_out = default_of(node, needed is None or option in needed)
        told = "; ".join(filter(None, (allowed(node), left_out)))
        yield f"{' ' * indent}{option} ({told}): {node.get('description', '')}".rstrip(": ")
        for within in (node, node.get("items"), node.get("additionalProperties")):
            if isinstance(within, dict) and "properties" in within:
                yield from _options(within["properties"], indent + 4, within.get("required", []))


def main(arguments):
    """Print what is asked for: the overview, the components of a sort, or one component."""
    lines = [] if arguments else list(overview())
    for word in arguments:
        found = [kind for kind in components.STAGES if word in components.registry(kind)]
        if word in components.STAGES:
            lines += described(word)
        elif found:
            lines += [line for kind in found for line in described(kind, [word])]
        else:
            every = [name for kind in components.STAGES for name in components.registry(kind)]
            print(
                f"There is no part {word!r}{nearest(word, [*components.STAGES, *every]) or '.'} "
                f"Sorts of parts: {', '.join(components.STAGES)}."
            )
            return 1
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):  # quiet where a pager or head stops reading
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
