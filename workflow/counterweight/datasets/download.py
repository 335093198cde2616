"""Fetch the raw files of a data set: mirror folder first, then each source in order.

Every file is pinned by its SHA-256 and gets its name only when its bytes have that
digest. pooch makes each transfer; its downloader here adds what pooch lacks, which is
to go on with a file that arrived in part.
"""

import contextlib
import errno
import gzip
import hashlib
import logging
import re
import shutil
import stat
import tarfile
import time
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from counterweight.errors import CounterweightError, listed
from counterweight.tables import replacing

log = logging.getLogger("counterweight")

#: No download and no unpacked archive may be larger (bytes): a guard against archive bombs.
LARGEST = 1 << 30
#: A transfer that brings fewer bytes per second than this over one timeout has stalled.
SLOWEST = 50
CHUNK = 1 << 16
#: Answers worth another try after a pause; any other 4xx will not change.
PASSING_STATUS = (408, 425, 429, 500, 502, 503, 504)


class SourceFailed(Exception):
    """What one source answered, in the words that the user reads.

    Parameters
    ----------
    answer : str
    passing : bool
        Whether another try may succeed.
    """

    def __init__(self, answer, passing=False):
        super().__init__(answer)
        self.passing = passing


def sha256(path):
    """SHA-256 of a file's bytes, in hex."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def fetch(
    name, files, sources, folder, *,
    mirror=None, timeout=30.0, retries=3, backoff=1.0, progress=True,
):  # fmt: skip
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
        Seconds without an answer, or at under `SLOWEST` bytes per second, after which
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
            if _in_place(folder / file, digest, tried):
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


def _in_place(path, digest, tried):
    if not path.exists():
        return False
    if not path.is_file():
        raise CounterweightError(f"{path} is not a file: remove it, then run again.")
    found = sha256(path)
    if found == digest:
        log.info("%s is in place", path)
        return True
    log.warning("%s has the digest %s, not %s: fetching it anew", path, found, digest)
    tried.append((path, f"in place, but wrong digest: got {found}"))
    return False


def _from_mirror(name, file, digest, folder, mirror, tried):
    path = mirror / name / file
    if not path.is_file():
        answer = "no such file in the mirror" if mirror.is_dir() else "there is no such mirror"
    else:
        with open(path, "rb") as stream:
            try:
                _place(stream, folder / file, digest)
                log.info("%s copied from the mirror %s", file, mirror)
                return True
            except SourceFailed as failure:
                answer = str(failure)
    log.warning("%s: %s; going on to the URLs", path, answer)
    tried.append((path, answer))
    return False


def _place(stream, target, digest):
    """Copy a stream to its final name, if its bytes have the digest."""
    with replacing(target) as temporary:
        sums, size, head = hashlib.sha256(), 0, b""
        with open(temporary, "wb") as out:
            while chunk := stream.read(CHUNK):
                size += len(chunk)
                if size > LARGEST:
                    raise SourceFailed(f"{target.name} is larger than {LARGEST} bytes")
                head = head or chunk[:1024]
                sums.update(chunk)
                out.write(chunk)
        if sums.hexdigest() != digest:
            raise SourceFailed(f"{target.name}: {_wrong_digest(sums.hexdigest(), digest, head)}")


def _wrong_digest(found, digest, head):
    page = b"<html" in head.lower() or head.lstrip().lower().startswith(b"<!doctype html")
    what = " (an HTML page, not the data)" if page else ""
    return f"wrong digest{what}: got {found}, not {digest}"


def _from_source(source, wanted, files, folder, cache, timeout, retries, backoff, progress):
    url, members = source["url"], source.get("members")
    digest = source.get("sha256") if members else files[source["file"]]
    local = retrieve(
        url, digest, cache,
        timeout=timeout, retries=retries, backoff=backoff, progress=progress,
    )  # fmt: skip
    try:
        if members:
            unpack(local, wanted, files, folder)
        else:
            with open(local, "rb") as stream:
                _place(stream, folder / source["file"], digest)
    finally:
        local.unlink(missing_ok=True)


def _remove_if_empty(cache):
    with contextlib.suppress(OSError):
        cache.rmdir()
        cache.parent.rmdir()


def retrieve(url, digest, cache, *, timeout=30.0, retries=3, backoff=1.0, progress=True):
    """Download one URL into the cache folder, going on with what is there in part.

    Parameters
    ----------
    url : str
    digest : str or None
        SHA-256 of the bytes; None when the caller checks what is inside.
    cache : Path

    Returns
    -------
    Path
        The complete file.

    Raises
    ------
    SourceFailed
        With the last answer, when every try failed.
    """
    import pooch

    # pooch tells the user to pin a hash where none is given; the members are pinned here.
    pooch.get_logger().setLevel(logging.WARNING)
    key = hashlib.sha256(url.encode()).hexdigest()[:12]
    cache.mkdir(parents=True, exist_ok=True)
    part = cache / f"{key}.part"
    downloader = ResumingDownloader(part, digest, timeout, progress)
    for attempt in range(retries + 1):
        log.info("fetching %s%s", url, f" (try {attempt + 1})" if attempt else "")
        try:
            path = pooch.retrieve(
                url, f"sha256:{digest}" if digest else None, fname=f"{key}.complete", path=cache,
                downloader=downloader,
            )  # fmt: skip
            return Path(path)
        except SourceFailed as failure:
            if not failure.passing or attempt == retries:
                tries = f" (tried {attempt + 1} times)" if attempt else ""
                raise SourceFailed(f"{failure}{tries}") from failure
            pause = backoff * 2**attempt
            log.warning("%s: %s; next try in %.3g s", url, failure, pause)
            time.sleep(pause)
    raise AssertionError("unreachable")


class ResumingDownloader:
    """A pooch downloader that asks only for the bytes that are still missing.

    Bytes collect in `part`. They are kept when the transfer breaks, and deleted when
    they are complete but wrong, so the next run starts afresh.

    Parameters
    ----------
    part : Path
    digest : str or None
        SHA-256 of the complete bytes.
    timeout : float
        Seconds.
    progress : bool
    """

    def __init__(self, part, digest, timeout, progress=True):
        self.part = part
        self.digest = digest
        self.timeout = timeout
        self.progress = progress

    def __call__(self, url, output_file, pooch):
        """Bring `url` to `output_file`; see pooch's downloader protocol."""
        import requests
        import urllib3

        try:
            resumed, encoding = self._transfer(url)
            if resumed and self.digest and sha256(self.part) != self.digest:
                # The part may stem from another version of the file.
                self.part.unlink()
                _, encoding = self._transfer(url)
        except (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError) as error:
            raise SourceFailed(f"timed out after {self.timeout:g} s", passing=True) from error
        except requests.exceptions.SSLError as error:
            raise SourceFailed(f"no secure connection: {_reason(error)}") from error
        except requests.exceptions.TooManyRedirects as error:
            raise SourceFailed("redirects without end") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            broken = self._received()
            if broken:
                answer = f"connection lost after {broken} bytes"
            else:
                answer = f"no connection: {_reason(error)}"
            raise SourceFailed(answer, passing=True) from error
        if self.digest:
            self._check(encoding)
        shutil.move(self.part, output_file)

    def _received(self):
        return self.part.stat().st_size if self.part.exists() else 0

    def _check(self, encoding):
        found = sha256(self.part)
        if found != self.digest and "gzip" in encoding:
            # Some servers compress although they were asked not to; others call a
            # .tgz file gzip-encoded. So the bytes as sent are tried first.
            with contextlib.suppress(EOFError, zlib.error, gzip.BadGzipFile, SourceFailed):
                with gzip.open(self.part) as stream:
                    _place(stream, self.part, self.digest)
                return
        if found != self.digest:
            with open(self.part, "rb") as handle:
                head = handle.read(1024)
            self.part.unlink()
            raise SourceFailed(_wrong_digest(found, self.digest, head))

    def _transfer(self, url):
        """Append to the part until it is complete: (whether resumed, content encoding)."""
        import requests

        have = self._received()
        headers = {"Accept-Encoding": "identity", "User-Agent": "counterweight"}
        if have:
            headers["Range"] = f"bytes={have}-"
        with requests.get(
            url, headers=headers, stream=True, timeout=(self.timeout, self.timeout)
        ) as answer:
            encoding = answer.headers.get("Content-Encoding", "").lower()
            span = re.match(
                r"bytes\s+(?:(\d+)-\d+|\*)/(\d+|\*)", answer.headers.get("Content-Range", "")
            )
            total = int(span[2]) if span and span[2] != "*" else None
            if answer.status_code == 416 and have:
                if total == have:
                    return True, encoding
                self.part.unlink()
                raise SourceFailed("HTTP 416 for the rest of a broken transfer", passing=True)
            if answer.status_code == 206 and have:
                if not span or span[1] is None or int(span[1]) != have:
                    self.part.unlink()
                    raise SourceFailed("HTTP 206 with another range than asked", passing=True)
                log.info("going on with %s from byte %d", url, have)
            elif answer.status_code == 200:
                length = answer.headers.get("Content-Length", "")
                have, total = 0, int(length) if length.isdigit() else None
            else:
                raise SourceFailed(
                    f"HTTP {answer.status_code} {answer.reason or ''}".rstrip(),
                    passing=answer.status_code in PASSING_STATUS,
                )
            resumed = have > 0
            self._receive(answer.raw, url, have, total)
        return resumed, encoding

    def _receive(self, raw, url, have, total):
        window, at_window, told = time.monotonic(), have, time.monotonic()
        with open(self.part, "ab" if have else "wb") as out:
            # read1 returns what has arrived; read would wait for a full chunk and so
            # never notice a server that drips.
            while chunk := raw.read1(CHUNK, decode_content=False):
                out.write(chunk)
                have += len(chunk)
                now = time.monotonic()
                if have > LARGEST:
                    out.truncate(0)
                    raise SourceFailed(f"larger than {LARGEST} bytes")
                if now - window > self.timeout:
                    if have - at_window < SLOWEST * self.timeout:
                        raise SourceFailed(
                            f"timed out: {have - at_window} bytes in {self.timeout:g} s",
                            passing=True,
                        )
                    window, at_window = now, have
                if self.progress and now - told > 5:
                    log.info("%s: %.1f%s MB", url, have / 1e6, f" of {total / 1e6:.1f}" * bool(total))
                    told = now
        if total is not None and have < total:
            raise SourceFailed(f"truncated: {have} of {total} bytes", passing=True)
        if self.progress:
            log.info("%s: %d bytes received", url, have)


def _reason(error):
    """The innermost reason of a connection error, without object addresses."""
    while getattr(error, "reason", None) or (error.args and isinstance(error.args[0], Exception)):
        inner = getattr(error, "reason", None) or error.args[0]
        if not isinstance(inner, Exception):
            break
        error = inner
    text = str(error)
    return re.sub(r"^.*?object at 0x[0-9a-f]+>:\s*|^[A-Za-z]+\(.*?\):\s*", "", text) or "unknown"


def unpack(archive, members, files, folder):
    """Take the named members out of a zip or tar archive, and nothing else.

    Parameters
    ----------
    archive : Path
    members : dict of str to str
        Member path by the file name it gets.
    files : dict of str to str
        SHA-256 by file name.
    folder : Path

    Raises
    ------
    SourceFailed
        When it is no archive, holds an unsafe path, unpacks to more than `LARGEST`
        bytes, or a member is absent, is no regular file, or has another digest.
    """
    try:
        if zipfile.is_zipfile(archive):
            _unpack_zip(archive, members, files, folder)
        else:
            _unpack_tar(archive, members, files, folder)
    except (
        zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError,
        RuntimeError, NotImplementedError,
    ) as error:  # fmt: skip
        with open(archive, "rb") as handle:
            head = handle.read(1024).lower()
        page = ", but an HTML page" if b"<html" in head else ""
        raise SourceFailed(f"not a readable archive{page} ({error})") from error


def _refuse_unsafe(path):
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or path.startswith(("/", "\\")) or ":" in (parts or [""])[0]:
        raise SourceFailed(f"the archive holds an unsafe path: {path!r}")


def _refuse_large(total):
    if total > LARGEST:
        raise SourceFailed(f"the archive unpacks to more than {LARGEST} bytes")


def _refuse_absent(members, found):
    absent = [path for path in members.values() if path not in found]
    if absent:
        raise SourceFailed(f"the archive has no member {listed(absent)}")


def _unpack_zip(archive, members, files, folder):
    with zipfile.ZipFile(archive) as packed:
        entries = {}
        for entry in packed.infolist():
            _refuse_unsafe(entry.filename)
            entries[entry.filename] = entry
        _refuse_large(sum(entry.file_size for entry in entries.values()))
        _refuse_absent(members, entries)
        for file, path in members.items():
            mode = stat.S_IFMT(entries[path].external_attr >> 16)
            if entries[path].is_dir() or mode not in (0, stat.S_IFREG):
                raise SourceFailed(f"the archive's member {path} is not a regular file")
            with packed.open(entries[path]) as stream:
                _place(stream, folder / file, files[file])


def _unpack_tar(archive, members, files, folder):
    with tarfile.open(archive, "r:*") as packed:
        entries, total = {}, 0
        # Step by step, so that a bomb is refused at its header and not unpacked first.
        for entry in packed:
            _refuse_unsafe(entry.name)
            total += entry.size
            _refuse_large(total)
            entries[entry.name] = entry
        _refuse_absent(members, entries)
        for file, path in members.items():
            if not entries[path].isreg():
                raise SourceFailed(f"the archive's member {path} is not a regular file")
            with packed.extractfile(entries[path]) as stream:
                _place(stream, folder / file, files[file])
