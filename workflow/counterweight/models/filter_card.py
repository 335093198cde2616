"""The card that goes with a filter: what it does and what it discloses, in plain words."""

from html import escape

import numpy as np

#: What to do about groups of too few people to have shares of their own.
TOO_SMALL = (
    "They count in the target and in the imbalance: put groups together that are too small to be "
    "balanced, or leave their people out of the table."
)
#: Numbers of accepted people that the card tells candidates for.
WANTED = (100, 1000, 10000)
#: Leaves of which the card shows every group; those of the largest share of the accepted.
LEAVES = 12


def card(saved, answers=None, own=False):
    """The card of a `SavedFilter` as Markdown.

    `answers` are those of people with a blank group who were asked by design, a
    `counterweight.delivery.group_plans.GroupAnswers`; `own` says whether it is of one's own table.
    """
    facts, columns = saved.facts, [escape(name) for name in saved.columns]
    setting, noise = facts["setting"] or "its only setting", facts["eta"]
    manner = "It does not predict anybody's group."
    if saved.proxy.predicts_groups:
        drawn = f"; with probability {noise:g} the leaf is drawn at random instead" if noise else ""
        manner = f"Its leaves are predictions of the group{drawn}."
    needs = ", ".join(f"`{name}`" for name in saved.encoder.columns_)
    made = "new_accepted" if own else "filtered"
    parts = [
        f"# Filter of the study {facts['study']}",
        f"{escape(facts['title'])}. Method `{facts['method']}`, setting `{setting}`, fitted on "
        f"{facts['rows']:,.0f} rows "
        + ("(all of the table)." if facts.get("refitted") else f"(split {facts['repeat']:.0f})."),
        _promise(saved),
        _worse(saved),
        "## What it does",
        "It accepts or rejects candidates so that the accepted ones are closer to the target "
        f"shares of {_words(columns)}, without being told anybody's {_words(columns, 'or')}. "
        f"{manner} From the other columns it sorts each candidate into one of "
        f"{len(saved.mass)} leaves, and accepts with the probability of the leaf.",
        "## Balance",
        _groups(saved),
        _balance(saved),
        _distorted(saved),
        "## How many candidates it takes",
        _needed(saved),
        "## What it discloses",
        _released(saved),
        _disclosure(saved),
        _leaves(saved),
        _asked(saved, answers) if answers is not None else "",
        "## Limits",
        _limits(saved, columns),
        "## How to apply it",
        _apply(facts["study"], own),
        "The table of candidates (CSV or Parquet) needs these columns, as in the table that the "
        f"filter was fitted on: `{facts['id']}`, {needs}. Other columns are passed over. "
        f"The results, `{made}.parquet` and `{made}.csv`, have `{facts['id']}` and "
        f"{_words([f'`{name}`' for name in saved.release])}, and nothing else. Whether somebody is "
        f"accepted is drawn by two numbers, made of `{facts['id']}` and the secret key (digest "
        f"`{facts['key']}`): the same person gets the same answer in any file and order, alone or "
        "among others, and nobody without the key can foretell it. Keep the key to yourself, and "
        "keep it: with another one everybody would get another answer. `filter.parquet` holds the "
        "whole filter in numbers and texts; docs/filter_format.md says how to read it.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _apply(study, own):
    """How people are put to the filter; `own`: by the config of one's own table."""
    if own:
        return (
            "Name the file of new people under `score` in the config and run it again, or say so "
            "in the terminal, with your config in place of `mine.yaml`:\n\n"
            "```\nsnakemake --cores 1 --configfile mine.yaml --config score=people.csv\n```"
        )
    return f"```\nsnakemake apply --config candidates=people.csv filter_study={study}\n```"


def _promise(saved):
    """What is promised for new people, first of all."""
    held = saved.held
    if not held:
        return (
            "**No promise for new people.** It was fitted again on all rows, so no row is left "
            "that could say what it tells about groups."
        )
    rows, level = held["rows", "value", -1], held["level", "value", -1]
    bound = held["disclosivity", "bound", -1]
    measured = f"by {rows:,.0f} rows that did not fit it, with confidence {100 * level:g} %"
    if "alpha" in saved.facts:
        return (
            f"**Certified at alpha {saved.facts['alpha']:g}.** For new people like these no leaf's "
            f"share of any group is further than {bound:.3f} from the share among all, {measured}."
            + lower_bound(held.get(("disclosivity", "alone", -1)))
        )
    kept = "Its alpha holds on the rows that it was fitted on."
    if "chosen" in saved.facts:
        value = saved.held["disclosivity", "value", -1]
        kept = (
            f"Held-out rows were to be told at most {saved.facts['chosen']:g}, and are told "
            f"{value:.3f}."
        )
    return (
        f"**Not certified.** {kept} For new people like these, a leaf's share of a group may be up "
        f"to {bound:.3f} from the share among all, {measured}."
    )


def lower_bound(bound):
    """A sentence on what held-out rows bound lower than what is certified; nothing without."""
    if bound is None or np.isnan(bound):
        return ""
    return (
        f" By themselves these rows bound it at {bound:.3f}, which allows for the choice among "
        "filters; each of the two bounds has that confidence alone."
    )


def _worse(saved):
    """What to know first of balanced columns that the filter makes more uneven, beyond chance."""
    worse = [escape(name) for name, (*_, low, _) in saved.changes().items() if low > 0]
    return f"**It makes {_words(worse)} more uneven.** {one_worse(_words(worse))}" if worse else ""


def one_worse(columns):
    """What to do where a filter of several columns makes some of them, in words, more uneven."""
    return (
        "Several columns are balanced as one, by squared distances of all their groups, so that "
        f"one may pay for another. Where {columns} matters, balance fewer others with it, or take "
        "a smaller min_acceptance_rate, and look again: no key holds a column where it is."
    )


def no_gain(columns):
    """What to do about a filter of which no gain in the balance of columns, in words, is shown."""
    return (
        "Do not turn people away by this filter: as far as the held-out rows can tell, to accept "
        f"everybody, or as few by chance alone, is as balanced. More rows with their {columns}, "
        "columns that tell more about these groups, or a larger alpha may make one that is of use."
    )


def _balance(saved):
    before, after = (
        saved.held.get((name, "value", -1)) for name in ("imbalance_before", "imbalance")
    )
    if after is None:
        return ""
    text = (
        f"On the held-out rows the distance of the groups' shares from the target is {after:.3f} "
        f"among the accepted and {before:.3f} among all (0 is balanced)"
    )
    rows = [
        (escape(name), f"{first:.3f}", f"{last:.3f}", _change(first, last, *ends))
        for name, (first, last, *ends) in saved.changes().items()
    ]
    head = ("column", "imbalance of all", "of the accepted", "change")
    by_column = f"\n\n{_table(head, rows)}" * bool(rows)
    # Filters of before have no interval.
    low, high = (saved.held.get(("imbalance_change", end, -1), np.nan) for end in ("low", "high"))
    falls = after < before
    if low <= high:
        text, falls = f"{text}: a change of {_change(before, after, low, high)}", high < 0
    if falls:
        return f"{text}.{by_column}"
    columns = _words([escape(name) for name in saved.columns])
    return f"{text}.{by_column}\n\n**This is no gain beyond chance.** {no_gain(columns)}"


def _change(before, after, low, high):
    return f"{after - before:.3f} ({low:.3f} to {high:.3f})".replace("-", "−")


def _distorted(saved):
    """How far the accepted of a group are from the group, and the limit that was asked for."""
    limit = saved.facts.get("max_distortion")
    shares = {
        "rows that it was fitted on": saved.measures.get(("distorted", "train")),
        "held-out rows": saved.held.get(("distorted", "value", -1)),
    }
    told = {rows: share for rows, share in shares.items() if share is not None}
    if not told:
        return ""
    parts = [f"{_percent(share)} on the {rows}" for rows, share in told.items()]
    return (
        "Of a group not everybody has the same chance, so the accepted of a group are not quite "
        "like the group. So many of them would have to be others for them to be spread over the "
        f"leaves as the group is, of the group where it is most: {' and '.join(parts)}. "
        + (
            f"At most {100 * limit:g} % were asked for, on the rows that it was fitted on."
            if limit is not None
            else "No limit was asked for (`max_distortion`)."
        )
    )


def _groups(saved):
    weights = saved.acceptance * saved.mass
    after = weights @ saved.shares / weights.sum()
    rows = []
    for k, name in enumerate(_names(saved)):
        shares = [_told(saved, key, k) for key in ("share_before", "share_after")]
        if shares[1] is None:
            shares = [_percent(saved.base[k]), _percent(after[k])]
        rows.append((name, *shares, _percent(saved.target[k])))
    measured = any(name == "share_before" for name, _, _ in saved.held)
    of = "held-out rows, with intervals" if measured else "rows that it was fitted on"
    table = _table(("group", "share of all", "share of the accepted", "target"), rows)
    return f"Shares among {of}.\n\n{table}"


def _told(saved, name, at=-1):
    """A figure of the held-out rows with its interval, or None."""
    values = [saved.held.get((name, kind, at)) for kind in ("value", "low", "high")]
    return None if None in values else _share(*values)


def _share(*values):
    value, low, high = (f"{100 * one:.1f}" for one in values)
    return f"{value} % ({low} to {high})"


def _needed(saved):
    """Candidates for so many accepted: quantiles of the negative binomial distribution."""
    from scipy.stats import nbinom

    rate = saved.held.get(("acceptance_rate", "value", -1), saved.rate)
    # The rate itself is an estimate: its interval widens that of the count.
    low, high = (saved.held.get(("acceptance_rate", kind, -1), rate) for kind in ("low", "high"))
    if not low > 0:
        return "Too few are accepted to say."
    rows = [
        (f"{wanted:,}", f"{wanted / rate:,.0f}")
        + tuple(
            f"{wanted + nbinom.ppf(share, wanted, min(end, 1.0)):,.0f}"
            for share, end in ((0.025, high), (0.975, low))
        )
        for wanted in WANTED
    ]
    told = _told(saved, "acceptance_rate") or _percent(rate)
    table = _table(("accepted", "candidates, about", "at least", "at most"), rows)
    of = " that were held out" if saved.held else ""
    return f"It accepts {told} of the people{of}: one of {1 / rate:.3g}.\n\n{table}"


def _released(saved):
    """What each released column tells about groups, on the held-out rows."""
    if not saved.held:
        return ""
    names = [f"`{name}`" for name in saved.release]
    if len(names) > 1:
        names.append("all of them together")
    rows = []
    for i, name in enumerate(names):
        at = i if i < len(saved.release) else -1
        value, bound = (saved.held["released", kind, at] for kind in ("value", "bound"))
        rows.append((name, _number(value), _number(bound)))
    text = "What is released about a person beside the id tells this much about groups at most:"
    table = _table(("released", "on the held-out rows", "at most, for everybody"), rows)
    drawn = (
        "Who of the held-out rows is accepted is drawn once for this: so `accepted` differs by "
        "chance from the shares of the accepted under Balance, which are expected over all draws. "
        "Being drawn by the leaf, it tells no more than the leaf."
    )
    return f"{text}\n\n{table}\n\n{drawn}"


def _disclosure(saved):
    shifts = np.nan_to_num(np.abs(saved.shifts), nan=-1.0)
    if shifts.max() < 0:
        return f"{_noise(saved)} No leaf's shares may be told.".strip()
    leaf, group = np.unravel_index(shifts.argmax(), shifts.shape)
    text = (
        "Whoever learns the leaf of a person learns something about the person's group. Over all "
        f"leaves and groups the largest shift is {_number(shifts.max())} on the training rows: in "
        f"leaf {leaf}, {_percent(saved.shares[leaf, group])} are of the group "
        f"{_names(saved)[group]}, against {_percent(saved.base[group])} of all."
    )
    if saved.held:
        value, bound = (saved.held["disclosivity", kind, -1] for kind in ("value", "bound"))
        text += (
            f" On the held-out rows the largest shift is {_number(value)}, and for everybody it is "
            f"at most {_number(bound)}."
        )
    return f"{text} {_noise(saved)}".strip()


def _noise(saved):
    """What was done to the shares that are told."""
    facts, text = saved.facts, ""
    if "epsilon" in facts:
        text += (
            "The shares in leaves and among all are of counts with Laplace noise of epsilon "
            f"{facts['epsilon']:g}; the chances of acceptance and the bounds have none."
        )
    if "min_cell_count" in facts:
        text += (
            f" Shares of leaves in which a group has fewer than {facts['min_cell_count']:g} people "
            "are withheld, and never those of one leaf alone."
        )
        if np.isnan(saved.base).any():
            text += (
                " So are those of groups of so few in all, and of the next smallest beside one "
                f"alone. {TOO_SMALL}"
            )
    return text.strip()


def _leaves(saved):
    order = np.argsort(-saved.acceptance * saved.mass, kind="stable")[:LEAVES]
    rows = [("all of the fit", "100 %", _percent(saved.rate), *map(_percent, saved.base), "")]
    rows += [
        (
            str(leaf),
            _percent(saved.mass[leaf]),
            _percent(saved.acceptance[leaf]),
            *map(_percent, saved.shares[leaf]),
            _number(np.abs(saved.shifts[leaf]).max()),  # NaN where shares are withheld
        )
        for leaf in np.sort(order)
    ]
    table = _table(("leaf", "rows", "accepted", *_names(saved), "largest shift"), rows)
    left = len(saved.mass) - len(order)
    others = f"\n\n{left} further leaves, of fewer accepted rows, are in `filter.parquet`."
    return table + (others if left else "")


def _asked(saved, answers):
    """What people who were asked for their group say, of all with a blank among theirs."""
    several = len(set(saved.classes)) > 1
    told = "not told all their groups" if several else "told no group"
    verdict, limit = "", saved.facts.get("alpha", saved.facts.get("chosen"))
    if answers.certified is not None:
        verdict = "Certified" if answers.certified else "Not certified"
        verdict = f"**{verdict} at alpha {limit:g} for people who had {told}.** "
    text = (
        f"{verdict}By {answers.labels:,} of them who were asked by design no leaf's share of any "
        f"group is further than {answers.bound:.3f} from the share among all of them (found: "
        f"{answers.value:.3f}), with confidence {_percent(answers.level)}. It rests on the known "
        "chances by which they were drawn, and on nothing that is assumed of who told."
    )
    if answers.refused:
        text += (
            f" {answers.refused:,} who were asked left a blank, and are taken to be like the "
            f"others of their leaf; whatever their groups are, it is at most {answers.worst:.3f}."
        )
    text += (
        f"\n\nAmong them the distance of the groups' shares from the target is "
        f"{answers.imbalance_before:.3f}, and {_number(answers.imbalance)} among those of them "
        "whom the filter accepts."
    )
    rows = [
        (name, *(_estimate(found.get(own)) for found in (answers.before, answers.accepted)))
        for own, name in zip(saved.groups, _names(saved), strict=True)
    ]
    table = _table(("group", "share of them", "share of the accepted of them"), rows)
    return f"## People who had {told}\n\n{text}\n\n{table}"


def _estimate(found):
    return "not measured" if found is None else _share(found.value, found.low, found.high)


def _limits(saved, columns):
    points = [
        "Nothing bounds what a leaf discloses but the noise: the leaves are predictions of the "
        "group. What is shown was measured."
        if saved.proxy.predicts_groups
        else "What a leaf discloses is limited by alpha on the rows of the fit; for new people the "
        "bound above counts.",
        "On other rows the shares of a leaf differ by chance, most in small leaves, and so does "
        "the balance.",
        "It was fitted on one population at one time. When the candidates change, the balance and "
        "the disclosure change: compare the shares of the leaves among new candidates with the "
        "column rows above, and fit anew.",
        f"It is not to be used to infer the {_words(columns, 'or')} of "
        "a person, and the leaves should not be kept longer than the decision needs.",
        "Acceptance is a lottery with known odds, one ticket a person: who gets several ids gets "
        "several tickets. Do not try several keys and choose among the results.",
        "A balanced sample does not make what is learned from it fair; measure that by group.",
    ]
    return "\n".join(f"- {point}" for point in points)


def _names(saved):
    return [escape(name).replace("|", "\\|") for name in saved.groups]


def _table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _words(words, last="and"):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _number(value):
    return "not measured" if value is None or np.isnan(value) else f"{value:.3f}"


def _percent(share):
    return "withheld" if np.isnan(share) else f"{100 * share:.1f} %"
