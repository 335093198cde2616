"""The one exception that users are meant to read, words of sentences, what none may repeat."""

import re
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
    """A number in so many figures, and all those before the point: nobody reads 2.64e+09."""
    if abs(value) < 10**figures - 0.5:
        return f"{value:.{figures}g}"
    return f"{value:,.0f}"


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
