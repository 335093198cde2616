"""Downloads, against an HTTP server of the test's own on loopback."""

import functools
import hashlib
import http.server
import io
import logging
import stat
import tarfile
import threading
import zipfile

import pytest
from counterweight.datasets import download
from counterweight.datasets.download import SourceFailed, fetch, unpack
from counterweight.errors import CounterweightError
from counterweight.plan.components import declared, registry
from counterweight.tables import parquet

DATA = b"".join(b"%d, some, data\n" % i for i in range(20000))
PAGE = b"<!DOCTYPE html><html><body>Access denied</body></html>"


def digest(content):
    return hashlib.sha256(content).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Range")))
        answers = self.server.answers[self.path]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        answer(self)

    def log_message(self, *args):
        pass

    def reply(self, content, status=200, length=None, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)
        self.server.sent.append(len(content))
        if length is not None and length != len(content):
            self.close_connection = True


def serve(content, status=200, **headers):
    return lambda handler: handler.reply(content, status, **headers)


def serve_ranges(content):
    def answer(handler):
        asked = handler.headers.get("Range")
        if not asked:
            return handler.reply(content)
        start = int(asked.removeprefix("bytes=").rstrip("-"))
        if start >= len(content):
            return handler.reply(b"", 416, Content_Range=f"bytes */{len(content)}")
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return handler.reply(content[start:], 206, Content_Range=span)

    return answer


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *arguments: None  # clients that hang up are the point here
    server.answers, server.seen, server.sent = {}, [], []
    server.over = threading.Event()
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=functools.partial(server.serve_forever, 0.02), daemon=True)
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()


def get(server, folder, *paths, files=None, sources=None, **options):
    options = {"timeout": 5.0, "retries": 2, "backoff": 0.01} | options
    sources = sources or [{"url": server.url + path, "file": "a.data"} for path in paths]
    return fetch("toy", files or {"a.data": digest(DATA)}, sources, folder, **options)


def refusal(*arguments, **options):
    with pytest.raises(CounterweightError) as caught:
        get(*arguments, **options)
    return str(caught.value)


def parts(folder):
    return list((folder.parent / ".partial").rglob("*.part"))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "raw" / "toy"


def test_file_arrives_and_nothing_else_stays(server, folder):
    server.answers["/a"] = [serve(DATA)]
    assert get(server, folder, "/a") == {"a.data": server.url + "/a"}
    assert (folder / "a.data").read_bytes() == DATA
    assert [path.name for path in folder.parent.rglob("*")] == ["toy", "a.data"]


def test_redirect_is_followed(server, folder):
    server.answers["/old"] = [serve(b"", 302, Location="/new")]
    server.answers["/new"] = [serve(DATA)]
    get(server, folder, "/old")
    assert (folder / "a.data").read_bytes() == DATA


def test_redirects_without_end_are_told(server, folder):
    server.answers["/round"] = [serve(b"", 302, Location="/round")]
    assert "redirects without end" in refusal(server, folder, "/round")


def test_second_url_serves_when_the_first_fails(server, folder):
    server.answers["/gone"] = [serve(b"no", 404)]
    server.answers["/a"] = [serve(DATA)]
    assert get(server, folder, "/gone", "/a") == {"a.data": server.url + "/a"}
    assert [path for path, _ in server.seen] == ["/gone", "/a"], "a 404 is not tried again"


def test_failure_names_each_url_its_answer_the_place_and_the_digest(server, folder):
    server.answers["/gone"] = [serve(b"no", 404)]
    server.answers["/denied"] = [serve(b"no", 403)]
    server.answers["/page"] = [serve(PAGE)]
    server.answers["/wrong"] = [serve(b"other bytes")]
    text = refusal(server, folder, "/gone", "/denied", "/page", "/wrong")
    assert f"{server.url}/gone: HTTP 404" in text
    assert f"{server.url}/denied: HTTP 403" in text
    assert f"{server.url}/page: wrong digest (an HTML page, not the data)" in text
    assert f"{server.url}/wrong: wrong digest: got {digest(b'other bytes')}" in text
    assert f"{(folder / 'a.data').resolve()}  {digest(DATA)}" in text
    assert "`make demo` needs no network" in text
    assert not (folder / "a.data").exists()
    assert not parts(folder), "complete but wrong bytes are not kept"


def test_busy_server_is_tried_again(server, folder):
    server.answers["/a"] = [serve(b"", 503), serve(b"", 429), serve(DATA)]
    get(server, folder, "/a")
    assert len(server.seen) == 3


def test_retries_end(server, folder):
    server.answers["/a"] = [serve(b"", 503)]
    assert "HTTP 503 Service Unavailable (tried 3 times)" in refusal(server, folder, "/a")
    assert len(server.seen) == 3


def test_pauses_double(server, folder, monkeypatch):
    pauses = []
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    server.answers["/a"] = [serve(b"", 503)]
    refusal(server, folder, "/a", retries=3, backoff=0.5)
    assert pauses == [0.5, 1.0, 2.0]


def test_truncated_body_is_told_and_kept_in_part_only(server, folder):
    server.answers["/a"] = [serve(DATA[:9000], length=len(DATA))]
    text = refusal(server, folder, "/a", retries=0)
    assert "/a: broken off: " in text and "9000 bytes read" in text
    assert not (folder / "a.data").exists()
    assert [path.read_bytes() for path in parts(folder)] == [DATA[:9000]]


def test_only_the_rest_is_transferred_on_the_next_run(server, folder):
    server.answers["/a"] = [serve(DATA[:9000], length=len(DATA)), serve_ranges(DATA)]
    refusal(server, folder, "/a", retries=0)
    get(server, folder, "/a")
    assert server.seen == [("/a", None), ("/a", "bytes=9000-")]
    assert server.sent == [9000, len(DATA) - 9000]
    assert (folder / "a.data").read_bytes() == DATA
    assert not parts(folder)


def test_only_the_rest_is_transferred_on_a_retry_and_after_a_redirect(server, folder):
    server.answers["/a"] = [serve(b"", 302, Location="/b")]
    server.answers["/b"] = [serve(DATA[:70000], length=len(DATA)), serve_ranges(DATA)]
    get(server, folder, "/a")
    assert server.seen[-1] == ("/b", "bytes=70000-")
    assert (folder / "a.data").read_bytes() == DATA


def test_server_that_ignores_ranges_sends_all_again(server, folder):
    server.answers["/a"] = [serve(DATA[:9000], length=len(DATA)), serve(DATA)]
    get(server, folder, "/a")
    assert server.seen[-1] == ("/a", "bytes=9000-")
    assert (folder / "a.data").read_bytes() == DATA


def test_part_that_is_complete_already_is_used(server, folder):
    server.answers["/a"] = [serve(DATA, length=len(DATA) + 1), serve_ranges(DATA)]
    get(server, folder, "/a")
    assert (folder / "a.data").read_bytes() == DATA


def test_stale_part_is_thrown_away_and_fetched_from_the_start(server, folder):
    server.answers["/a"] = [serve(b"x" * 9000, length=len(DATA)), serve_ranges(DATA)]
    get(server, folder, "/a")
    assert [asked for _, asked in server.seen] == [None, "bytes=9000-", None]
    assert (folder / "a.data").read_bytes() == DATA


def test_range_other_than_asked_is_not_appended(server, folder):
    shifted = serve(DATA[9001:], 206, Content_Range=f"bytes 9001-{len(DATA) - 1}/{len(DATA)}")
    server.answers["/a"] = [serve(DATA[:9000], length=len(DATA)), shifted, serve_ranges(DATA)]
    get(server, folder, "/a")
    assert (folder / "a.data").read_bytes() == DATA


@pytest.mark.parametrize("before", ["headers", "body"])
def test_silent_server_times_out(server, folder, before):
    def answer(handler):
        if before == "body":
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(DATA)))
            handler.end_headers()
            handler.wfile.write(DATA[:100])
        server.over.wait(60)
        handler.close_connection = True

    # The server falls silent for longer than any test; only the client's limit ends the wait.
    server.answers["/a"] = [answer]
    assert "timed out" in refusal(server, folder, "/a", timeout=0.2, retries=0)


def test_no_server_is_told(folder, server):
    text = refusal(
        server, folder, sources=[{"url": "http://127.0.0.1:9/a", "file": "a.data"}], retries=1
    )
    assert "http://127.0.0.1:9/a: no connection: " in text
    assert "refused" in text
    assert "object at 0x" not in text


def test_archive_called_gzip_encoded_is_taken_as_sent(server, folder):
    packed = tar_of({"in/a.data": DATA})
    server.answers["/t"] = [serve(packed, Content_Encoding="x-gzip")]
    source = {
        "url": server.url + "/t",
        "sha256": digest(packed),
        "members": {"a.data": "in/a.data"},
    }
    get(server, folder, sources=[source])
    assert (folder / "a.data").read_bytes() == DATA


def test_file_put_by_hand_is_kept(server, folder):
    folder.mkdir(parents=True)
    (folder / "a.data").write_bytes(DATA)
    assert get(server, folder, "/a") == {"a.data": "in place"}
    assert not server.seen


def test_file_in_place_with_wrong_bytes_is_replaced_or_told(server, folder):
    folder.mkdir(parents=True)
    (folder / "a.data").write_bytes(b"half")
    server.answers["/a"] = [serve(b"", 404), serve(DATA)]
    assert f"in place, but wrong digest: got {digest(b'half')}" in refusal(server, folder, "/a")
    get(server, folder, "/a")
    assert (folder / "a.data").read_bytes() == DATA


def test_mirror_comes_first(server, folder, tmp_path):
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    (tmp_path / "mirror" / "toy" / "a.data").write_bytes(DATA)
    assert get(server, folder, "/a", mirror=tmp_path / "mirror") == {"a.data": "mirror"}
    assert not server.seen


@pytest.mark.parametrize(
    ("content", "answer"), [(None, "no such file in the mirror"), (b"old", "wrong digest")]
)
def test_mirror_without_the_right_file_is_logged_and_passed(
    server, folder, tmp_path, caplog, content, answer
):
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    if content:
        (tmp_path / "mirror" / "toy" / "a.data").write_bytes(content)
    server.answers["/a"] = [serve(DATA)]
    with caplog.at_level(logging.WARNING, logger="counterweight"):
        origins = get(server, folder, "/a", mirror=tmp_path / "mirror")
    assert origins == {"a.data": server.url + "/a"}
    assert answer in caplog.text


def test_mirror_that_is_not_there_is_named(server, folder, tmp_path):
    server.answers["/a"] = [serve(b"", 404)]
    assert "there is no such mirror" in refusal(server, folder, "/a", mirror=tmp_path / "nowhere")


def zip_of(members, kind=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return stream.getvalue()


def tar_of(members, links=()):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as packed:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
        for name, target in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            packed.addfile(entry)
    return stream.getvalue()


def get_archive(server, folder, packed, member="a.data", known=True, **options):
    server.answers["/z"] = [serve(packed)]
    source = {"url": server.url + "/z", "members": {"a.data": member}}
    if known:
        source["sha256"] = digest(packed)
    return get(server, folder, sources=[source], **options)


@pytest.mark.parametrize("pack", [zip_of, tar_of])
@pytest.mark.parametrize("known", [True, False])
def test_only_named_members_are_unpacked(server, folder, pack, known):
    get_archive(
        server, folder, pack({"in/a.data": DATA, "other": b"x"}), member="in/a.data", known=known
    )
    assert (folder / "a.data").read_bytes() == DATA
    assert [path.name for path in folder.parent.rglob("*")] == ["toy", "a.data"]


@pytest.mark.parametrize("pack", [zip_of, tar_of])
def test_bad_archives_are_told(server, folder, pack):
    good = pack({"a.data": DATA})
    for packed, answer in [
        (pack({"b.data": DATA}), "no member a.data"),
        (pack({"a.data": b"other"}), "a.data: wrong digest: got"),
        (good[: len(good) // 2], "not a readable archive"),
        (PAGE, "not a readable archive, but an HTML page"),
        (b"", "not a readable archive"),
    ]:
        with pytest.raises(CounterweightError, match=answer):
            get_archive(server, folder, packed, known=False)
        assert not (folder / "a.data").exists()


def test_download_without_end_is_stopped(server, folder, monkeypatch):
    monkeypatch.setattr(download, "LARGEST", 100000)
    server.answers["/a"] = [serve(DATA)]
    assert "larger than 100000 bytes" in refusal(server, folder, "/a")
    assert not parts(folder)


def test_unwritable_folder_is_told(server, folder, monkeypatch):
    opened = parquet.os.open

    def refused(path, flags, *mode, **options):
        if flags & parquet.os.O_EXCL:
            raise PermissionError(13, "Permission denied", str(folder))
        return opened(path, flags, *mode, **options)

    monkeypatch.setattr(parquet.os, "open", refused)
    server.answers["/a"] = [serve(DATA)]
    text = refusal(server, folder, "/a")
    assert "Permission denied" in text
    assert f"make the folder {folder}" in text


def test_file_in_the_way_of_the_folder_is_told(server, folder):
    folder.parent.mkdir()
    folder.write_text("not a folder")
    server.answers["/a"] = [serve(DATA)]
    assert str(folder) in refusal(server, folder, "/a")


def test_full_disk_is_told(server, folder, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download.shutil, "move", full)
    server.answers["/a"] = [serve(DATA)]
    assert "The disk is full" in refusal(server, folder, "/a")
    assert not (folder / "a.data").exists()


def nested(inner, path="in/bank.zip", **more):
    return zip_of({path: inner, "readme.txt": b"hello", **more})


def get_nested(folder, packed, path="in/bank.zip/deep/a.data", files=None):
    archive = folder.parent / "complete"
    archive.parent.mkdir(exist_ok=True)
    archive.write_bytes(packed)
    members = {"a.data": path} if isinstance(path, str) else path
    try:
        with open(archive, "rb") as stream:
            unpack(stream, members, files or {"a.data": digest(DATA)}, folder)
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


@pytest.mark.parametrize("pack", [zip_of, tar_of])
@pytest.mark.parametrize("path", ["../evil", "/evil", "in/../../evil", "..\\evil", "C:\\evil"])
def test_nothing_but_what_is_named_comes_out_wherever_it_would_go(folder, pack, path):
    get_nested(folder, pack({"a.data": DATA, path: b"x"}), "a.data")
    assert left_behind(folder) == ["a.data"]


def test_links_are_no_members(folder):
    with pytest.raises(SourceFailed, match="has no member a.data"):
        get_nested(folder, tar_of({}, links=[("a.data", "/etc/hostname")]), "a.data")
    entry = zipfile.ZipInfo("a.data")
    entry.create_system, entry.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(SourceFailed, match="a.data: wrong digest"):
        get_nested(folder, zip_of({entry: b"/etc/hostname"}), "a.data")


@pytest.mark.parametrize("pack", [zip_of, tar_of])
def test_what_unpacks_to_too_much_is_refused(folder, monkeypatch, pack):
    monkeypatch.setattr(download, "LARGEST", 100000)
    for packed, path in [
        (pack({"a": DATA}), "a"),
        (nested(pack({"a": DATA}) * 9), "in/bank.zip/a"),
    ]:
        with pytest.raises(SourceFailed, match="is larger than 100000 bytes"):
            get_nested(folder, packed, path)
    assert left_behind(folder) == []


def test_disk_errors_are_not_called_a_broken_archive(folder, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download.tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match="No space left on device"):
        get_nested(folder, nested(zip_of({"deep/a.data": DATA})))
    assert not (folder / "a.data").exists()


def test_every_file_of_every_data_set_has_a_digest_and_a_source():
    for name in registry("dataset"):
        files = declared("dataset", name, "FILES", {})
        sources = declared("dataset", name, "SOURCES", [])
        if name == "own_table":
            assert not files and not sources, "the user names the file"
            continue
        assert declared("dataset", name, "ROWS") > 0
        assert bool(files) != declared("dataset", name, "SIMULATED", False)
        if all("package" in source for source in sources) and sources:
            assert all({"install", "folder"} < source.keys() for source in sources)
            continue
        offered = {file for source in sources for file in source.get("members", [])}
        offered |= {source["file"] for source in sources if "file" in source}
        assert offered == set(files)
        assert all(len(known) == 64 for known in files.values())
        assert all(source["url"].startswith("https://") for source in sources)
