"""Archives inside archives: only what is named comes out, whatever is in them."""

import io
import stat
import tarfile
import zipfile

import pytest
from counterweight.datasets.download import archives
from counterweight.datasets.download.archives import unpack
from counterweight.datasets.download.transfer import SourceFailed
from test_download import DATA, PAGE, digest, tar_of, zip_of


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "raw" / "toy"


def nested(inner, path="in/bank.zip", **more):
    return zip_of({path: inner, "readme.txt": b"hello", **more})


def get_nested(folder, packed, path="in/bank.zip/deep/a.data", files=None):
    archive = folder.parent / "complete"
    archive.parent.mkdir(exist_ok=True)
    archive.write_bytes(packed)
    members = {"a.data": path} if isinstance(path, str) else path
    try:
        unpack(archive, members, files or {"a.data": digest(DATA)}, folder)
    finally:
        archive.unlink()


def left_behind(folder):
    return sorted(path.name for path in folder.parent.rglob("*") if path.is_file())


@pytest.mark.parametrize("pack", [zip_of, tar_of])
@pytest.mark.parametrize("around", [zip_of, tar_of])
def test_member_of_an_inner_archive_is_unpacked(folder, pack, around):
    packed = around({"in/bank.zip": pack({"deep/a.data": DATA, "b": b"x"}), "c": b"y"})
    get_nested(folder, packed)
    assert (folder / "a.data").read_bytes() == DATA
    assert left_behind(folder) == ["a.data"]


def test_members_of_outer_and_inner_and_innermost_archives_together(folder):
    innermost = tar_of({"c.data": b"c"})
    packed = nested(zip_of({"deep/a.data": DATA, "x.tgz": innermost}), **{"b.data": b"b"})
    paths = {
        "a.data": "in/bank.zip/deep/a.data",
        "b.data": "b.data",
        "c.data": "in/bank.zip/x.tgz/c.data",
    }
    contents = {"a.data": DATA, "b.data": b"b", "c.data": b"c"}
    files = {name: digest(content) for name, content in contents.items()}
    get_nested(folder, packed, paths, files)
    assert {name: (folder / name).read_bytes() for name in files} == contents


def test_folder_that_is_named_like_an_archive_is_a_folder(folder):
    get_nested(folder, zip_of({"in/bank.zip/deep/a.data": DATA}))
    assert (folder / "a.data").read_bytes() == DATA


def test_folder_entries_of_a_tar_are_no_inner_archives(folder):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as packed:
        entry = tarfile.TarInfo("in")
        entry.type = tarfile.DIRTYPE
        packed.addfile(entry)
        inner = zip_of({"deep/a.data": DATA})
        entry = tarfile.TarInfo("in/bank.zip")
        entry.size = len(inner)
        packed.addfile(entry, io.BytesIO(inner))
    get_nested(folder, stream.getvalue())
    assert (folder / "a.data").read_bytes() == DATA


def test_bad_inner_archives_are_told(folder):
    inner = zip_of({"deep/a.data": DATA})
    for packed, answer in [
        (nested(zip_of({"deep/b.data": DATA})), "in in/bank.zip: .* has no member deep/a.data"),
        (nested(inner, "other.zip"), "the archive has no member in/bank.zip/deep/a.data"),
        (nested(inner[: len(inner) // 2]), "in in/bank.zip: not a readable archive"),
        (nested(PAGE), "in in/bank.zip: not a readable archive, but an HTML page"),
        (nested(b""), "in in/bank.zip: not a readable archive"),
        (nested(DATA), "in in/bank.zip: not a readable archive"),
        (nested(zip_of({"deep/a.data": b"other"})), "a.data: wrong digest: got"),
        (nested(zip_of({"deep/a.data": DATA, "../evil": b"x"})), "unsafe path: '../evil'"),
        (nested(inner, **{"/evil": b"x"}), "unsafe path: '/evil'"),
        (nested(zip_of({"deep/a.data/": b""})), "has no member deep/a.data"),
    ]:
        with pytest.raises(SourceFailed, match=answer) as caught:
            get_nested(folder, packed)
        assert "\n" not in str(caught.value)
        assert left_behind(folder) == []


def broken(packed, at):
    return packed[:at] + bytes(byte ^ 0x5A for byte in packed[at : at + 20]) + packed[at + 20 :]


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_archives_are_told(folder, kind):
    """Whatever the way of packing, damage is told like any other failure of a source."""
    damaged = broken(zip_of({"deep/a.data": DATA}, kind), 90)
    for packed, path in [(nested(damaged), "in/bank.zip/deep/a.data"), (damaged, "deep/a.data")]:
        with pytest.raises(SourceFailed, match="not a readable archive"):
            get_nested(folder, packed, path)
        assert left_behind(folder) == []


def test_disk_errors_are_not_called_a_broken_archive(folder, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archives.tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match="No space left on device"):
        get_nested(folder, nested(zip_of({"deep/a.data": DATA})))
    assert not (folder / "a.data").exists()


def test_link_in_place_of_an_inner_archive_is_refused(folder):
    entry = zipfile.ZipInfo("in/bank.zip")
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(SourceFailed, match="in/bank.zip is not a regular file"):
        get_nested(folder, zip_of({entry: b"/etc/hostname"}))


@pytest.mark.parametrize("pack", [zip_of, tar_of])
def test_bomb_in_an_inner_archive_is_refused(folder, monkeypatch, pack):
    """Each archive alone is within the limit; what they unpack to together is not."""
    monkeypatch.setattr(archives, "LARGEST", 400000)
    inner = pack({"deep/a.data": DATA})
    get_nested(folder, nested(inner))
    (folder / "a.data").unlink()
    with pytest.raises(SourceFailed, match="unpacks to more than 400000 bytes"):
        get_nested(folder, nested(pack({"deep/a.data": DATA, "bomb": b"0" * 200000})))
    with pytest.raises(SourceFailed, match="unpacks to more than 400000 bytes"):
        get_nested(folder, nested(inner, more=b"0" * 100000))
    assert left_behind(folder) == []
