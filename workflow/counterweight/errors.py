"""The one exception that users read, words and numbers of sentences, what none may repeat."""

import math
import numbers
import re
from decimal import Decimal
from html import escape
from urllib.parse import unquote

#: A name in an address that stands for a variable of the environment.
ENVIRONMENT = re.compile(r"\$\{(\w+)\}")
#: Keys of an address whose values nobody is to read, wherever they stand in it.
_SECRET = re.compile(
    r"(?:^|[?&;\s])(?!passfile=)[^=?&;\s]*(?:pass|pwd|token|secret|credential|_key)[^=?&;\s]*\s*=\s*"
    r"([^&;\s]+)",
    re.IGNORECASE,
)


class CounterweightError(ValueError):
    """A mistake in the input, told in one sentence: what, where, what to do.

    Scripts print the message without a traceback and exit with status 1, so the
    text must stand on its own. It is a ``ValueError``, as scikit-learn's tools expect.
    """


def listed(words, limit=8):
    """Words joined for a sentence; of more than `limit` the rest is counted."""
    words = [str(word) for word in words]
    if len(words) <= limit:
        return ", ".join(words)
    return ", ".join(words[:limit]) + f" and {len(words) - limit} more"


def in_figures(value, figures=4):
    """A number in so many figures, and all those before the point: nobody reads 2.64e+09, nor
    2.5e-05."""
    if abs(value) < 10**figures - 0.5:
        return f"{Decimal(f'{value:.{figures}g}'):f}" if math.isfinite(value) else f"{value:g}"
    return f"{value:,.0f}"


def _order(value):
    """Power of ten of the first figure of a number, 0 of none."""
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0


def in_brackets(value, low, high, percent=False):
    """An estimate and its interval, as pages of reports have them: ``39.8 % [34.3, 45.5]``."""
    if percent:
        told = [f"{100 * one:.1f}" for one in (value, low, high)]
    else:
        first, largest = _order(value), _order(max(map(abs, (value, low, high))))
        # More than six places only where all three are that small.
        places = min(max((3 if first >= 0 else 2) - first, 0), max(6, 2 - largest))
        told = [f"{one:,.{places}f}" for one in (value, low, high)]
    ends = f" [{told[1]}, {told[2]}]" if low <= high else ""
    return told[0] + " %" * percent + ends


def html_facts(title, facts):
    """A small table for a notebook, in the notebook's own colours; all of it is escaped.

    Numbers as pages of reports have them: commas between thousands, a true minus sign.
    """

    def told(value):
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            value = f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"
        return escape(re.sub(r"(?<![\w-])-(?=\.?\d)", "\N{MINUS SIGN}", str(value)))

    rows = (
        f"<tr><th style='text-align:left'>{escape(str(name))}</th>"
        f"<td style='text-align:left'>{told(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{''.join(rows)}</tbody></table>"


class Shown:
    """What shows the facts of its `_shown` in a line, and as a table in a notebook."""

    def _shown(self):
        """Facts by name; numbers or words."""
        return {}

    def __repr__(self):
        told = (
            f"{name} {one if isinstance(one, str) else f'{one:.10g}'}"
            for name, one in self._shown().items()
        )
        return f"{type(self).__name__}({', '.join(told)})"

    def _repr_html_(self):
        return html_facts(type(self).__name__, self._shown())


def holds_password(address):
    """Whether an address holds a password, or what may be one, that is not from the environment.

    All that SQLAlchemy takes for a password is found, in whatever signs it is written; also what
    stands in the place of a port and is none, and words beside a key such as ``password=``.
    """
    begin, _, rest = address.partition("://")
    # The names themselves hold nothing; a figure stands in the place of each, as in a port.
    rest = ENVIRONMENT.sub("0", rest or begin)
    if any(word.strip("0") for text in (rest, unquote(rest)) for word in _SECRET.findall(text)):
        return True
    if rest.startswith("/"):  # a file
        return False
    entrance, at, place = rest.rpartition("@")
    user, _, password = entrance.partition(":")
    if password.strip("0") or ":" in unquote(user):
        return True
    host = re.split("[/?]", re.sub(r"^\[[^]]*\]", "", place), maxsplit=1)[0]
    return bool(at or "://" in address) and not re.fullmatch("[^:]*(:[0-9]*)?", host)
