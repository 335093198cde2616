"""Take named files out of an archive that may be broken or hostile."""

import gzip
import stat
import tarfile
import zipfile
import zlib
from pathlib import PurePosixPath

from counterweight.datasets.transfer import LARGEST, SourceFailed, place
from counterweight.errors import listed


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
                place(stream, folder / file, files[file])


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
                place(stream, folder / file, files[file])
