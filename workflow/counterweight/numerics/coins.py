"""Keyed randomisation: who somebody is decides a draw, by a secret key and a purpose.

The same person gets the same uniform number in any file, order or batch, and nobody without the key
can foretell it.
"""

import hashlib
import hmac
import logging
import os
import secrets
import stat
import tempfile
import unicodedata
from pathlib import Path

import numpy as np

from counterweight.errors import CounterweightError, listed

log = logging.getLogger("counterweight")


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


#: Variable of the environment that holds the key itself, as text.
VARIABLE = "COUNTERWEIGHT_FILTER_KEY"
#: Least characters of a key: shorter ones can be guessed.
LEAST = 16
#: File of the key of filters and of plans, and what it was called for plans from Python in 1.0.0.
KEY_FILE, EARLIER_FILE = "filter.key", "collect.key"
#: Begins what a digest is taken of, so that it is of use for nothing else.
_PURPOSE = b"counterweight key digest\0"


class Key:
    """A secret that decisions are drawn by. It is never printed; `digest` tells keys apart."""

    __slots__ = ("digest", "secret")

    def __init__(self, secret):
        self.secret = bytes(secret)
        self.digest = hashlib.sha256(_PURPOSE + self.secret).hexdigest()[:16]

    def __repr__(self):
        return f"Key(digest={self.digest!r})"


def key_of_seed(seed):
    """The key of a shipped study or a test: anybody who knows the seed knows it."""
    return Key(b"seed %d" % int(seed))


def read_key(path):
    """The `Key` of the variable `VARIABLE`, or else of a file that its owner alone can read."""
    told = os.environ.get(VARIABLE)
    if told is not None:
        return _checked(told, f"The variable {VARIABLE}")
    path = Path(path)
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CounterweightError(
            f"There is no key at {path}: the filter's decisions are drawn by the key that it was "
            "made with. Put that file back, say where it is, as in accept(frame, key=...) with the "
            f"file that filter_key in the config names, or set the variable {VARIABLE}."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CounterweightError(
            f"The key {path} cannot be read ({error}): correct its rights or contents."
        ) from error
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise CounterweightError(
            f"The key {path} can be read by others: who has it can foretell every decision. Make "
            f"it yours alone with chmod 600 {path}."
        )
    return _checked(text, f"The key {path}")


def own_key(path):
    """The key of one's own filters: `read_key`, and where there is no file yet, a new one.

    Of several that try to make it at the same time one does, and all read that one.
    """
    path = Path(path)
    if VARIABLE not in os.environ and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # mkstemp gives mode 600; a link to a name that exists fails, so the first one stays.
        handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(secrets.token_hex(32) + "\n")
            os.link(made, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(made)
    return read_key(path)


def key_of_plan(key):
    """The `Key` of a plan: of a seed, of bytes, of a file; of `KEY_FILE` where it is None.

    Where there is a file of `EARLIER_FILE` it is that one, so that plans drawn by it go on.
    """
    if isinstance(key, Key):
        return key
    if isinstance(key, bytes):
        return Key(key)
    if isinstance(key, int) and not isinstance(key, bool):
        return key_of_seed(key)
    if key is not None:
        return own_key(key)
    path = EARLIER_FILE if Path(EARLIER_FILE).exists() else KEY_FILE
    log.info("The plan is drawn by the key of %s: keep it, and the plan goes on.", path)
    return own_key(path)


def _checked(text, where):
    secret = text.strip()
    if len(secret) < LEAST:
        raise CounterweightError(
            f"{where} has {len(secret)} characters, and a key needs at least {LEAST} that nobody "
            "can guess: make one with python -c 'import secrets; print(secrets.token_hex(32))'."
        )
    return Key(secret.encode())
