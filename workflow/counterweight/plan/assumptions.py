"""What answers rest on, by the weighting that was made: no name of a method decides it."""

from counterweight.plan import components

#: The weighting whose assumption holds where none was made: labels missing at random.
UNWEIGHTED = "lemma1"


def declared_assumption(weighting=None, model=None):
    """What a weighting declares as ``ASSUMES``, or a model that has an assumption of its own.

    Of a fit without weights, and where nothing is declared, it is that labels are missing at
    random. Returns a pair of texts: how
    the first sentence begins, and a sentence on what is taken for granted.
    """
    own = components.declared("model", model, "ASSUMES") if model else None
    own = own or (components.declared("weighting", weighting, "ASSUMES") if weighting else None)
    return own or components.declared("weighting", UNWEIGHTED, "ASSUMES")


def assumed(declared, options=None, whom=""):
    """The same with the options of the weighting in it, as facts of a saved model.

    `declared` is from `declared_assumption`, `options` dict by name, `whom` those that answers are
    for where they are not in the table. Several columns are joined by "and", beginning with one.
    Returns dict: ``if``, how the first sentence begins, and ``rests``.
    """
    words = {
        name: "".join(f' and "{one}"' for one in told) if isinstance(told, (list, tuple)) else told
        for name, told in (options or {}).items()
    }
    first, rests = (text.format(**words | {"whom": whom}) for text in declared)
    return {"if": first, "rests": rests}
