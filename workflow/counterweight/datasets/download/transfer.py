"""One transfer: a URL to a file of ours, with retries, resume and digest check."""

import contextlib
import gzip
import hashlib
import logging
import re
import shutil
import time
import zlib
from pathlib import Path

from counterweight.datasets.download.digests import sha256
from counterweight.files.tables import replacing

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


def place(stream, target, digest):
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


def _wrong_digest(actual, digest, head):
    page = b"<html" in head.lower() or head.lstrip().lower().startswith(b"<!doctype html")
    what = " (an HTML page, not the data)" if page else ""
    return f"wrong digest{what}: got {actual}, not {digest}"


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
                url,
                f"sha256:{digest}" if digest else None,
                fname=f"{key}.complete",
                path=cache,
                downloader=downloader,
            )
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
        self._total = None  # bytes announced; 0 when the server does not say

    def __call__(self, url, output_file, pooch):
        """Bring `url` to `output_file`; see pooch's downloader protocol."""
        import requests
        import urllib3

        self._total = None
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
            if self._total:
                answer = f"truncated: {self._received()} of {self._total} bytes"
            elif self._total == 0:
                answer = f"connection lost after {self._received()} bytes"
            else:
                answer = f"no connection: {_reason(error)}"
            raise SourceFailed(answer, passing=True) from error
        if self.digest:
            self._check(encoding)
        shutil.move(self.part, output_file)

    def _received(self):
        return self.part.stat().st_size if self.part.exists() else 0

    def _check(self, encoding):
        actual = sha256(self.part)
        if actual != self.digest and "gzip" in encoding:
            # Some servers compress although they were asked not to; others call a
            # .tgz file gzip-encoded. So the bytes as sent are tried first.
            with contextlib.suppress(EOFError, zlib.error, gzip.BadGzipFile, SourceFailed):
                with gzip.open(self.part) as stream:
                    place(stream, self.part, self.digest)
                return
        if actual != self.digest:
            with open(self.part, "rb") as handle:
                head = handle.read(1024)
            self.part.unlink()
            raise SourceFailed(_wrong_digest(actual, self.digest, head))

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
            resumed, self._total = have > 0, total or 0
            self._receive(answer.raw, url, have, total)
        return resumed, encoding

    def _receive(self, raw, url, have, total):
        window, at_window, last_said = time.monotonic(), have, time.monotonic()
        with open(self.part, "ab" if have else "wb") as out:
            # read1 returns what has arrived; read would wait for a full chunk and so
            # never notice a server that drips.
            while chunk := raw.read1(CHUNK, decode_content=False):
                out.write(chunk)
                have += len(chunk)
                now = time.monotonic()
                if have > LARGEST:
                    self.part.unlink()
                    raise SourceFailed(f"larger than {LARGEST} bytes")
                if now - window > self.timeout:
                    if have - at_window < SLOWEST * self.timeout:
                        raise SourceFailed(
                            f"timed out: {have - at_window} bytes in {self.timeout:g} s",
                            passing=True,
                        )
                    window, at_window = now, have
                if self.progress and now - last_said > 5:
                    of = f" of {total / 1e6:.1f}" if total else ""
                    log.info("%s: %.1f%s MB", url, have / 1e6, of)
                    last_said = now
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
