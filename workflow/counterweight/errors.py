"""The one exception that users are meant to read."""


class CounterweightError(ValueError):
    """A mistake in the input, told in one sentence: what, where, what to do.

    Scripts print the message without a traceback and exit with status 1, so the
    text must stand on its own. It is a ``ValueError``, as scikit-learn's tools expect.
    """


def listed(words, limit=8):
    """Join words for a sentence, cutting a long list short.

    Parameters
    ----------
    words : iterable of str
    limit : int
        How many words to name before the rest is counted.
    """
    words = [str(word) for word in words]
    if len(words) <= limit:
        return ", ".join(words)
    return ", ".join(words[:limit]) + f" and {len(words) - limit} more"
