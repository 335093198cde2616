"""Digests of files, and the check of raw files by them: all that stage prepare needs of here."""

import hashlib
from pathlib import Path

from counterweight.errors import CounterweightError


def sha256(path):
    """SHA-256 of a file's bytes, in hex."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def verify(folder, files):
    """Refuse raw files whose bytes are not the pinned ones.

    Parameters
    ----------
    folder : path
    files : dict of str to str
        SHA-256 digest by file name.

    Raises
    ------
    CounterweightError
    """
    for file, digest in files.items():
        path = Path(folder) / file
        actual = sha256(path)
        if actual != digest:
            raise CounterweightError(
                f"{path} has the SHA-256 digest {actual}, not the pinned {digest}: it was changed "
                "or is another version; delete it, then run again to fetch it anew."
            )
