"""The secret key of a filter or of a plan: who somebody is decides the draw, by this key alone.

Nobody without the key can foretell a draw; see `counterweight.numerics.coins`.
"""

import hashlib
import os
import secrets
import stat
import tempfile
from pathlib import Path

from counterweight.errors import CounterweightError

#: Variable of the environment that holds the key itself, as text.
VARIABLE = "COUNTERWEIGHT_FILTER_KEY"
#: Least characters of a key: shorter ones can be guessed.
LEAST = 16
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
            f"made with. Put that file back, or set the variable {VARIABLE}."
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


def _checked(text, where):
    secret = text.strip()
    if len(secret) < LEAST:
        raise CounterweightError(
            f"{where} has {len(secret)} characters, and a key needs at least {LEAST} that nobody "
            "can guess: make one with python -c 'import secrets; print(secrets.token_hex(32))'."
        )
    return Key(secret.encode())
