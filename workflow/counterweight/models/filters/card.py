"""The card that goes with a filter: what it does and what it discloses, in plain words."""

import numpy as np

#: Leaves of which the card shows every group; those of the largest share of the accepted.
LEAVES = 12


def card(saved):
    """The card of a filter as Markdown.

    Parameters
    ----------
    saved : SavedFilter

    Returns
    -------
    str
    """
    facts, columns = saved.facts, list(dict.fromkeys(saved.classes))
    setting = facts["setting"] or "its only setting"
    parts = [
        f"# Filter of the study {facts['study']}",
        f"{facts['title']}. Method `{facts['method']}`, setting `{setting}`, fitted on "
        f"{facts['rows']:,.0f} rows (split {facts['repeat']:.0f}).",
        "## What it does",
        "It accepts or rejects candidates so that the accepted ones are closer to the target "
        f"shares of {_words(columns)}, without being told anybody's {_words(columns, 'or')}. "
        f"{_manner(saved)} From the other columns it sorts each candidate into one of "
        f"{len(saved.mass)} leaves, and accepts with the probability of the leaf. Of the training "
        f"rows it accepts {_percent(saved.rate)}: one of {1 / saved.rate:.3g}.",
        "## Imbalance before and after",
        "Distance of the shares of the groups from the target shares (0 is balanced).",
        _balance(saved),
        _groups(saved),
        "## What it discloses",
        _disclosure(saved),
        _leaves(saved),
        "## Limits",
        _limits(saved),
        "## How to apply it",
        "```\nsnakemake apply --config candidates=people.csv\n```",
        "The table of candidates (CSV or Parquet) needs these columns, as in the table that the "
        f"filter was fitted on: {_columns(saved)}. Other columns are passed over. The results, "
        "`filtered.parquet` and `filtered.csv`, tell for each candidate, in the order of the table "
        f"and by {_who(saved)}, whether it is accepted, and no more: the probability of acceptance "
        "and the leaf would tell about the group. The same seed "
        "gives the same decisions. `filter.parquet` holds the whole filter in numbers and texts.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _who(saved):
    return f"its `{saved.facts['id']}`" if "id" in saved.facts else "its number from 0"


def _manner(saved):
    if not saved.proxy.predicts_groups:
        return "It does not predict anybody's group."
    noise = saved.facts["eta"]
    drawn = f"; with probability {noise:g} the leaf is drawn at random instead" if noise else ""
    return f"Its leaves are predictions of the group{drawn}."


def _balance(saved):
    base = float(np.linalg.norm(saved.base - saved.target))

    def both(name):
        return [saved.measures.get((name, part)) for part in ("train", "test")]

    rows = [
        ("before", base, both("imbalance_before")[1]),
        ("after", *both("imbalance")),
        ("least that this disclosure allows", *both("floor")),
    ]
    table = _table(
        ("", "training rows", "test rows"),
        [(name, _number(train), _number(test)) for name, train, test in rows],
    )
    (_, _, before), (_, _, after), _ = rows
    if before is None or after is None or after < before:
        return table
    return table + (
        "\n\n**On the test rows the accepted ones were no closer to the target than all rows.** Do "
        "not expect balance of new candidates from this filter: fit it on more rows, or with "
        "larger leaves."
    )


def _groups(saved):
    weights = saved.acceptance * saved.mass
    after = weights @ saved.shares / weights.sum()
    return _table(
        ("group", "share before", "share among accepted", "target"),
        [
            (name, _percent(before), _percent(share), _percent(aim))
            for name, before, share, aim in zip(
                _names(saved), saved.base, after, saved.target, strict=True
            )
        ],
    )


def _disclosure(saved):
    shifts = np.abs(saved.shifts)
    leaf, group = np.unravel_index(shifts.argmax(), shifts.shape)
    text = (
        "Whoever learns the leaf of a person learns something about the person's group. Over all "
        f"leaves and groups the largest shift is {_number(shifts.max())} on the training rows: in "
        f"leaf {leaf}, {_percent(saved.shares[leaf, group])} are of the group "
        f"{_names(saved)[group]}, against {_percent(saved.base[group])} of all."
    )
    test = saved.measures.get(("disclosivity", "test"))
    if test is not None:
        text += f" On the test rows the largest shift is {_number(test)}."
    return text


def _leaves(saved):
    order = np.argsort(-saved.acceptance * saved.mass, kind="stable")[:LEAVES]
    rows = [("all", "100 %", _percent(saved.rate), *map(_percent, saved.base), "")]
    rows += [
        (
            str(leaf),
            _percent(saved.mass[leaf]),
            _percent(saved.acceptance[leaf]),
            *map(_percent, saved.shares[leaf]),
            _number(np.abs(saved.shifts[leaf]).max()),
        )
        for leaf in np.sort(order)
    ]
    table = _table(("leaf", "rows", "accepted", *_names(saved), "largest shift"), rows)
    left = len(saved.mass) - len(order)
    others = f"\n\n{left} further leaves, of fewer accepted rows, are in `filter.parquet`."
    return table + (others if left else "")


def _limits(saved):
    points = [
        "Nothing bounds what a leaf discloses but the noise: the leaves are predictions of the "
        "group. What is shown was measured."
        if saved.proxy.predicts_groups
        else "What a leaf discloses is bounded on the training rows only.",
        "On other rows the shares of a leaf differ by chance, most in small leaves, and so does "
        "the balance.",
        "It was fitted on one population at one time. When the candidates change, the balance and "
        "the disclosure change: compare the shares of the leaves among new candidates with the "
        "column rows above, and fit anew.",
        f"It is not to be used to infer the {_words(list(dict.fromkeys(saved.classes)), 'or')} of "
        "a person, and the leaves should not be kept longer than the decision needs.",
        "Acceptance is a lottery with known odds: the draw is seeded, so it can be repeated and "
        "checked. Do not try several seeds and choose among the results.",
        "A balanced sample does not make what is learned from it fair; measure that by group.",
    ]
    return "\n".join(f"- {point}" for point in points)


def _columns(saved):
    return ", ".join(f"`{name}`" for name in saved.encoder.columns_)


def _names(saved):
    return [name.replace("|", "\\|") for name in saved.groups]


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _words(words, last="and"):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _number(value):
    return "not measured" if value is None or np.isnan(value) else f"{value:.3f}"


def _percent(share):
    return f"{100 * share:.3g} %"
