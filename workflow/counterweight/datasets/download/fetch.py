"""Fetch the raw files of a data set: mirror folder first, then each source in order.

Every file is pinned by its SHA-256 and gets its name only when its bytes have that
digest. pooch makes each transfer; its downloader here adds what pooch lacks, which is
to go on with a file that arrived in part.
"""

import contextlib
import errno
import logging
from pathlib import Path

from counterweight.datasets.download.archives import unpack
from counterweight.datasets.download.digests import sha256
from counterweight.datasets.download.transfer import SourceFailed, place, retrieve
from counterweight.errors import CounterweightError, listed

log = logging.getLogger("counterweight")


def fetch(
    name,
    files,
    sources,
    folder,
    *,
    mirror=None,
    timeout=30.0,
    retries=3,
    backoff=1.0,
    progress=True,
):
    """Bring the files of a data set into a folder, each with its pinned digest.

    A file that is in place with the right digest is kept. Then comes the mirror, then
    the sources in order. What arrived in part is kept in a folder ``.partial/{name}``
    beside `folder`, and the next try or the next run goes on from there.

    Parameters
    ----------
    name : str
        Name of the data set; the mirror's subfolder.
    files : dict of str to str
        SHA-256 in hex by file name.
    sources : sequence of dict
        ``url``, and either ``file`` (the URL serves that file) or ``members`` (the URL
        serves a zip or tar archive: member path by file name), with the archive's
        ``sha256`` where it is known.
    folder : str or Path
    mirror : str or Path, optional
        Folder that holds ``{name}/{file}``. A file that it lacks, or that has another
        digest there, is logged and then looked for at the sources.
    timeout : float
        Seconds without an answer, or at under `transfer.SLOWEST` bytes per second, after which
        a try fails.
    retries : int
        Further tries of one URL after a failure that may pass (no answer, broken
        transfer, status 429 or 5xx).
    backoff : float
        Seconds before the first retry; doubled before each later one.
    progress : bool
        Log the size received every few seconds.

    Returns
    -------
    dict of str to str
        Where each file came from: ``"in place"``, ``"mirror"`` or a URL.

    Raises
    ------
    CounterweightError
        When a file could not be had from anywhere, or the folder cannot be written.
    """
    folder = Path(folder)
    cache = folder.parent / ".partial" / name
    tried, origins = [], {}
    with _disk_errors_told(folder):
        for file, digest in files.items():
            if _inplace(folder / file, digest, tried):
                origins[file] = "in place"
            elif mirror and _from_mirror(name, file, digest, folder, Path(mirror), tried):
                origins[file] = "mirror"
        for source in sources:
            members = source.get("members") or {source["file"]: None}
            wanted = {file: path for file, path in members.items() if file not in origins}
            wanted = {file: path for file, path in wanted.items() if file in files}
            if not wanted:
                continue
            try:
                _from_source(
                    source, wanted, files, folder, cache, timeout, retries, backoff, progress
                )
                origins.update(dict.fromkeys(wanted, source["url"]))
            except SourceFailed as failure:
                log.warning("%s: %s", source["url"], failure)
                tried.append((source["url"], str(failure)))
        _remove_if_empty(cache)
    missing = [file for file in files if file not in origins]
    if missing:
        raise CounterweightError(_failure_text(name, missing, files, folder, tried))
    return origins


def _failure_text(name, missing, files, folder, tried):
    lines = [f"The data set {name} is incomplete: {listed(missing)} could not be had."]
    lines += [f"  {where}: {answer}" for where, answer in tried] or ["  No source to try."]
    lines.append("Put by hand, with these SHA-256 digests, then run again:")
    lines += [f"  {(folder / file).resolve()}  {files[file]}" for file in missing]
    lines.append(
        "Or name a folder that has them in data_mirror or COUNTERWEIGHT_MIRROR "
        f"(as {name}/{missing[0]}). `make demo` needs no network."
    )
    return "\n".join(lines)


@contextlib.contextmanager
def _disk_errors_told(folder):
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise CounterweightError(
                f"The disk is full while downloading to {folder}: free some space, then run again."
            ) from error
        where = error.filename or folder
        raise CounterweightError(
            f"Cannot read or write {where} ({error.strerror or error}): make the folder "
            f"{folder} and the one above it writable."
        ) from error


def _inplace(path, digest, tried):
    if not path.exists():
        return False
    if not path.is_file():
        raise CounterweightError(f"{path} is not a file: remove it, then run again.")
    actual = sha256(path)
    if actual == digest:
        log.info("%s is in place", path)
        return True
    log.warning("%s has the digest %s, not %s: fetching it anew", path, actual, digest)
    tried.append((path, f"in place, but wrong digest: got {actual}"))
    return False


def _from_mirror(name, file, digest, folder, mirror, tried):
    path = mirror / name / file
    if not path.is_file():
        answer = "no such file in the mirror" if mirror.is_dir() else "there is no such mirror"
    else:
        with open(path, "rb") as stream:
            try:
                place(stream, folder / file, digest)
                log.info("%s copied from the mirror %s", file, mirror)
                return True
            except SourceFailed as failure:
                answer = str(failure)
    log.warning("%s: %s; going on to the URLs", path, answer)
    tried.append((path, answer))
    return False


def _from_source(source, wanted, files, folder, cache, timeout, retries, backoff, progress):
    url, members = source["url"], source.get("members")
    digest = source.get("sha256") if members else files[source["file"]]
    local = retrieve(
        url, digest, cache, timeout=timeout, retries=retries, backoff=backoff, progress=progress
    )
    try:
        if members:
            unpack(local, wanted, files, folder)
        else:
            with open(local, "rb") as stream:
                place(stream, folder / source["file"], digest)
    finally:
        local.unlink(missing_ok=True)


def _remove_if_empty(cache):
    with contextlib.suppress(OSError):
        cache.rmdir()
        cache.parent.rmdir()
