"""Take named files out of an archive that may be broken or hostile."""

import contextlib
import errno
import gzip
import lzma
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from counterweight.datasets.download.transfer import CHUNK, LARGEST, SourceFailed, place
from counterweight.errors import listed


def unpack(archive, members, files, folder):
    """Take the named members out of a zip or tar archive, and nothing else.

    Parameters
    ----------
    archive : Path
    members : dict of str to str
        Member path by the file name it gets. A member of an archive inside the archive
        is named by both paths, e.g. ``"bank.zip/bank-full.csv"``, to any depth.
    files : dict of str to str
        SHA-256 by file name.
    folder : Path

    Raises
    ------
    SourceFailed
        When it is no archive, holds an unsafe path, unpacks to more than `LARGEST`
        bytes (inner archives included), or a member is absent, is no regular file, or
        has another digest.
    """
    folder = Path(folder)
    with open(archive, "rb") as stream:
        _unpack(stream, members, files, folder, Path(archive).parent, 0)


def _unpack(stream, members, files, folder, scratch, spent):
    """Unpack an open archive; `spent` bytes were unpacked to get at it."""
    try:
        opened = _open_zip if zipfile.is_zipfile(stream) else _open_tar
        stream.seek(0)
        with opened(stream, spent) as (regular, extract, total):
            direct, nested = _sorted_out(members, regular)
            for file, path in direct.items():
                _refuse_special(regular, path)
                with extract(path) as inner:
                    place(inner, folder / file, files[file])
            for path, wanted in nested.items():
                _refuse_special(regular, path)
                with extract(path) as inner, tempfile.TemporaryFile(dir=scratch) as copy:
                    shutil.copyfileobj(inner, copy, CHUNK)
                    copy.seek(0)
                    try:
                        _unpack(copy, wanted, files, folder, scratch, total)
                    except SourceFailed as failure:
                        raise SourceFailed(f"in {path}: {failure}") from failure
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        gzip.BadGzipFile,
        zlib.error,
        EOFError,
        lzma.LZMAError,
        RuntimeError,
        NotImplementedError,
        OSError,
    ) as error:
        # Broken bzip2 data and impossible offsets come as an OSError that no disk raised.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        stream.seek(0)
        page = ", but an HTML page" if b"<html" in stream.read(1024).lower() else ""
        # tarfile lists what each of its packers says, on a line each.
        reason = str(error).partition("\n")[0].rstrip(":")
        raise SourceFailed(f"not a readable archive{page} ({reason})") from error


def _sorted_out(members, present):
    """Members of this archive, and those of archives in it by the inner archive's path."""
    direct, nested, absent = {}, {}, []
    for file, path in members.items():
        parts = path.split("/")
        around = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
        inner = next((prefix for prefix in around if prefix in present), None)
        if path in present:
            direct[file] = path
        elif inner is None:
            absent.append(path)
        else:
            nested.setdefault(inner, {})[file] = path.removeprefix(f"{inner}/")
    if absent:
        raise SourceFailed(f"the archive has no member {listed(absent)}")
    return direct, nested


def _refuse_unsafe(path):
    parts = PurePosixPath(path.replace("\\", "/")).parts
    if ".." in parts or path.startswith(("/", "\\")) or ":" in (parts or [""])[0]:
        raise SourceFailed(f"the archive holds an unsafe path: {path!r}")


def _refuse_large(total):
    if total > LARGEST:
        raise SourceFailed(f"the archive unpacks to more than {LARGEST} bytes")


def _refuse_special(regular, path):
    if not regular[path]:
        raise SourceFailed(f"the archive's member {path} is not a regular file")


@contextlib.contextmanager
def _open_zip(stream, spent):
    """Whether each path (no folder) is a regular file, how to open one, bytes unpacked in all."""
    with zipfile.ZipFile(stream) as packed:
        entries = {}
        for entry in packed.infolist():
            _refuse_unsafe(entry.filename)
            entries[entry.filename] = entry
        total = spent + sum(entry.file_size for entry in entries.values())
        _refuse_large(total)
        regular = {
            path: stat.S_IFMT(entry.external_attr >> 16) in (0, stat.S_IFREG)
            for path, entry in entries.items()
            if not entry.is_dir()
        }
        # A zip entry never yields more bytes than the size that was checked above.
        yield regular, lambda path: packed.open(entries[path]), total


@contextlib.contextmanager
def _open_tar(stream, spent):
    """As `_open_zip`."""
    with tarfile.open(fileobj=stream, mode="r:*") as packed:
        entries, total = {}, spent
        # Step by step, so that a bomb is refused at its header and not unpacked first.
        for entry in packed:
            _refuse_unsafe(entry.name)
            total += entry.size
            _refuse_large(total)
            entries[entry.name] = entry
        regular = {path: entry.isreg() for path, entry in entries.items() if not entry.isdir()}
        yield regular, lambda path: packed.extractfile(entries[path]), total
