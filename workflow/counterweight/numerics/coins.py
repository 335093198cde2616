"""Coins of rows by who they are: a keyed hash of the id.

A coin is a uniform number that depends on who somebody is, on the key and on a purpose alone. The
same person gets the same number in any file, order or batch, and nobody without the key can
foretell it.
"""

import hmac
import unicodedata

import numpy as np

from counterweight.errors import CounterweightError, listed


def canonical_ids(values, *, column="id", people="candidates"):
    """Ids as texts: whole numbers without a point, texts without blanks around them.

    Texts are in the composed form of Unicode (NFC), so one name has one spelling. "007" and 7
    are two persons: leading zeros count. None may be missing, and each stands once.
    """
    texts = [_text(value) for value in np.asarray(values, dtype=object)]
    absent = [row for row, text in enumerate(texts) if not text]
    if absent:
        raise CounterweightError(
            f"The column {column!r} of the {people} tells nobody in {len(absent)} of {len(texts)} "
            f"rows (first: row {absent[0]}, counted from 0): each person needs an id, by which "
            "the decision is drawn."
        )
    if len(set(texts)) < len(texts):
        seen, twice = set(), []
        for text in texts:
            if text in seen:
                twice.append(text)
            seen.add(text)
        raise CounterweightError(
            f"The column {column!r} of the {people} has {len(twice)} rows whose id stood before "
            f"({listed(sorted(set(twice)), 3)}): one row a person; several would be several tries "
            "with other answers."
        )
    return texts


def _text(value):
    # NaN is the only value that differs from itself; pandas' NA answers with NA instead.
    if value is None or str(value) == "<NA>" or value != value:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        if not float(value).is_integer():
            return repr(float(value))
        value = int(value)
    return unicodedata.normalize("NFC", str(value).strip())


def person_uniforms(key, ids, purpose, count=1):
    """Uniform numbers of persons (count, n), at most 4 each, from HMAC-SHA256 of their ids.

    The message is the id and the purpose, each in UTF-8 behind its length in bytes (8 bytes,
    most significant first), so no two pairs give the same one. Number k of a person is made of
    the k-th 8 bytes of the hash: their first 53 bits, over 2^53. Other purposes, unrelated numbers.
    """
    end = _part(purpose)
    made = b"".join(hmac.digest(key, _part(text) + end, "sha256") for text in ids)
    words = np.frombuffer(made, dtype=">u8").reshape(len(ids), 4)[:, :count]
    return (words.astype(np.uint64) >> np.uint64(11)).T * 2.0**-53


def _part(text):
    told = text.encode()
    return len(told).to_bytes(8, "big") + told
