"""Tables that are queries: SQLite, DuckDB, a PostgreSQL server of our own; nothing secret told."""

import contextlib
import importlib.util
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import traceback
from pathlib import Path

import pandas as pd
import pytest
import yaml
from counterweight.datasets.own_table import read_typed
from counterweight.datasets.queries import check_url, read_query, shown
from counterweight.errors import CounterweightError, holds_password
from counterweight.plan.config import resolve
from counterweight.plan.own import with_own_tables
from counterweight.plan.reading import main
from counterweight.plan.stages import Stages

pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")

PASSWORD = "p@ss:w/o%rd"


def refusal(*given):
    with pytest.raises(CounterweightError) as caught:
        read_query(*given)
    assert "\n" not in str(caught.value)
    assert not Path(given[2]).exists() and not list(Path(given[2]).parent.glob(".*"))
    told = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in told and "p%40ss" not in told
    return str(caught.value)


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out" / "read.parquet"


@pytest.fixture
def sqlite(tmp_path):
    path = tmp_path / "people.db"
    with sqlite3.connect(path) as base:
        base.execute("create table people (id integer, name text, x real, mixed)")
        base.executemany(
            "insert into people values (?, ?, ?, ?)",
            [(1, "a:b %s", 0.5, 1), (2, None, None, "x"), (3, "c", 2.0, None)],
        )
    return path


def test_sqlite_is_read_and_typed(sqlite, out):
    sql = "select id, name, x, ':id' as t from people where name like '%' or id = 2 order by id;"
    assert read_query(sql, f"sqlite:///{sqlite}", out) == 3
    made = read_typed(out)
    assert made.types == {"id": "number", "name": "text", "x": "number", "t": "text"}
    assert made.frame["name"].tolist()[::2] == ["a:b %s", "c"]
    assert made.frame["x"].tolist()[::2] == [0.5, 2.0] and made.frame["t"][0] == ":id"


def test_reading_again_gives_the_same_bytes(sqlite, out):
    read_query("select id, name from people", f"sqlite:///{sqlite}", out)
    first = out.read_bytes()
    read_query("select id, name from people", f"sqlite:///{sqlite}", out)
    assert out.read_bytes() == first


def test_duckdb_is_read_and_typed(tmp_path, out):
    duckdb = pytest.importorskip("duckdb", reason="the extra sql is not installed")
    pytest.importorskip("duckdb_engine", reason="the extra sql is not installed")
    with duckdb.connect(str(tmp_path / "base.duckdb")) as base:
        base.execute(
            "create table people as select i as id, i * 1.5::decimal(9, 2) as price, i > 1 as ok, "
            "date '2020-01-01' + i::int as day, uuid() as code, "
            "timestamptz '2020-01-01 12:00:00+00' as at from range(4) as r(i)"
        )
    url = f"duckdb:///{tmp_path / 'base.duckdb'}"
    assert read_query("select *, '12:30' as clock from people", url, out) == 4
    made = read_typed(out)
    assert made.types == {
        "id": "number",
        "price": "number",
        "ok": "boolean",
        "day": "date",
        "code": "text",
        "at": "date",
        "clock": "number",
    }
    assert made.frame["price"].tolist() == [0, 1.5, 3, 4.5]
    assert made.frame["day"].tolist() == [18262, 18263, 18264, 18265]
    assert "refuses the query" in refusal("delete from people", url, out.with_name("b"))


def test_what_is_wrong_is_told(sqlite, tmp_path, out, monkeypatch):
    url = f"sqlite:///{sqlite}"
    assert "refuses the query (no such column: y): correct the SQL" in refusal(
        "select y from people", url, out
    )
    assert "refuses the query" in refusal("delete from people", url, out)
    assert "gives no row" in refusal("select * from people where id > 9", url, out)
    assert "'mixed' of several types (int, str): cast it" in refusal(
        "select mixed from people", url, out
    )
    assert "column id more than once" in refusal("select id, id from people", url, out)
    assert "is not there: correct the path" in refusal("select 1", "sqlite:////absent/x.db", out)
    assert "is none of a database" in refusal("select 1", "people.db", out)
    assert "not read here: use sqlite" in refusal("select 1", "mysql://host/base", out)
    monkeypatch.delenv("ABSENT_NAME", raising=False)
    assert "has no ABSENT_NAME" in refusal("select 1", "sqlite:///${ABSENT_NAME}", out)
    monkeypatch.setenv("BASE", str(sqlite))
    assert read_query("select id from people", "sqlite:///${BASE}", out) == 3


#: Addresses with a password, which is hunter2 among other signs.
HELD = [
    "postgresql://me:hunter2@host/base",
    "postgresql://me@server:hunter2@host/base",
    "postgresql://me:${A}hunter2@host/base",
    "postgresql://${USER}:hunter2${A}@host/base",
    "postgresql://me:hunter2@@host/base",
    "postgresql://me:x@hunter2@host/base",
    "postgresql://me:x:hunter2@host/base",
    "postgresql://me:x/hunter2@host/base",
    "postgresql://me:/hunter2@host/base",
    "postgresql://me:?hunter2@host/base",
    "postgresql://me:x hunter2@host/base",
    "postgresql://me:hunter2%40%3A%2F@host/base",
    "postgresql://me%3Ahunter2@host/base",
    "postgresql://:hunter2@host/base",
    "postgresql://me:$hunter2@host/base",
    "postgresql://me:{hunter2}@host/base",
    "postgresql://me:hunter2@[::1]:5432/base",
    "postgresql+psycopg://me:hunter2@/base",
    "postgresql://host/base?user=me&password=hunter2",
    "postgresql://host/base?PassWord=hunter2",
    "postgresql://host/base?%70assword=hunter2",
    "postgresql://host/base?sslpassword=x;hunter2",
    "postgresql://me@host:hunter2/base",
    "postgresql://me:hunter2/base",
    "duckdb:///md:base?motherduck_token=hunter2",
    "host=server user=me password=hunter2",
    "jdbc:postgresql://me:hunter2@host/base",
    "me:hunter2@host/base",
]
FREE = [
    "postgresql://${USER}:${PASSWORD}@host:5432/base?sslmode=require",
    "postgresql://${A}${B}@host:${PORT}/base?password=${C}",
    "postgresql://me@[::1]:5432/base",
    "postgresql://me%40server@host/base?passfile=/home/me/.pgpass",
    "${DATABASE_URL}",
    "sqlite:///C:/people@home/base.db",
    "sqlite:////home/me:you/base.db",
    "duckdb:///:memory:",
    "sqlite://",
    "people.db",
]


@pytest.mark.parametrize("url", HELD)
def test_a_password_in_the_config_is_refused_and_not_repeated(url, out, tmp_path, capsys):
    told = refusal("select 1", url, out)
    assert "holds a password: write ${NAME}" in told and "hunter2" not in told
    assert "hunter2" not in shown(url)
    # Wherever it stands in a config, in a text or in what is of the wrong form.
    tables = ({"sql": "select 1", "url": url}, {"url": url, "sqk": url}, url, [url], {url: 1})
    for table in tables:
        if "://" not in url and "url" not in table:
            continue
        config = {"table": table, "outcome": "y", "title": f"From {url}"}
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(config))
        assert main([tmp_path / "mine.yaml"]) == 1
        told = "".join(capsys.readouterr())
        assert "an address with a password" in told and "hunter2" not in told


@pytest.mark.parametrize("url", FREE)
def test_names_of_the_environment_and_files_are_no_password(url):
    check_url(url)
    assert shown(url) == url


def test_every_password_that_sqlalchemy_finds_is_found():
    from sqlalchemy.engine import make_url

    rng, found = random.Random(0), 0
    for _ in range(20_000):
        url = "postgresql://" + "".join(rng.choices("ab1:@/?%&=[]. ", k=rng.randint(0, 14)))
        with contextlib.suppress(Exception):
            if make_url(url).password:
                found += 1
                assert holds_password(url), url
    assert found > 1_000


@pytest.mark.parametrize(
    "sql",
    [
        "attach '{file}' as other",
        "vacuum into '{file}'",
        "copy people to '{file}'",
        "copy (select 1) to '{file}'",
        "export database '{file}'",
        "select 1; delete from people",
        "select 1; commit; delete from people",
        "select 1; create table more (a int)",
        "with gone as (delete from people returning *) select * from gone",
        "delete from people returning *",
        "insert into people select * from people",
        "drop table people",
        "pragma journal_mode = wal",
        "pragma query_only = off",
        "create table '{file}' as select 1",
    ],
)
@pytest.mark.parametrize("base", ["sqlite", "duckdb", "memory"])
def test_a_query_can_write_nothing(base, sql, sqlite, tmp_path, out, monkeypatch):
    path, url = sqlite, f"sqlite:///{sqlite}"
    if base != "sqlite":
        duckdb = pytest.importorskip("duckdb", reason="the extra sql is not installed")
        pytest.importorskip("duckdb_engine", reason="the extra sql is not installed")
        path, url = tmp_path / "base.duckdb", f"duckdb:///{tmp_path / 'base.duckdb'}"
        with duckdb.connect(str(path)) as made:
            made.execute("create table people as select 1 as id")
        url = "duckdb:///:memory:" if base == "memory" else url
    monkeypatch.chdir(out.parent)
    before, files = path.read_bytes(), sorted(tmp_path.rglob("*"))
    assert "refuses the query" in refusal(sql.format(file=out.with_name("more")), url, out)
    assert path.read_bytes() == before and sorted(tmp_path.rglob("*")) == files


def test_a_server_that_is_not_there_is_told_without_the_password(out, monkeypatch):
    pytest.importorskip("psycopg", reason="the extra sql is not installed")
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)
    url = "postgresql://me:${DB_PASSWORD}@127.0.0.1:1/base"
    assert "cannot be reached" in refusal("select 1", url, out)
    monkeypatch.setenv("DB_URL", "postgresql://me:secret-word@127.0.0.1:1/base")
    told = refusal("select 1", "${DB_URL}", out)
    assert "${DB_URL} cannot be reached" in told and "secret-word" not in told


def binaries():
    """The folder of a PostgreSQL server's programs: the system's, or of the package pgserver."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    package = importlib.util.find_spec("pgserver")
    return Path(package.origin).parent / "pginstall" / "bin" if package else None


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL server that asks for a password, with a table of people; its port."""
    psycopg = pytest.importorskip("psycopg", reason="the extra sql is not installed")
    programs = binaries()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed, neither by the system nor by pgserver")
    # The server does not run as root.
    owner = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
    folder = Path(tempfile.mkdtemp())
    data, word = folder / "data", folder / "word"
    word.write_text(PASSWORD)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    if owner:
        for path in (folder, word):
            shutil.chown(path, **owner)
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder, **owner}
    control = [programs / "pg_ctl", "-D", data, "-w"]
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "me", "-A", "scram-sha-256"]
            + ["--pwfile", word, "-E", "UTF8", "--no-sync"],
            **quiet,
        )
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        subprocess.run([*control, "-o", options, "-l", folder / "log", "start"], **quiet)
        try:
            with psycopg.connect(
                host="127.0.0.1", port=port, user="me", password=PASSWORD, dbname="postgres"
            ) as base:
                base.execute(
                    "create table people as select i as id, 10000000000000000 + i as long, "
                    "i * 1.25 as amount, i % 2 = 0 as ok, date '2020-01-01' + i as day, "
                    "timestamptz '2020-01-01 12:00+02' as moment, 'näme'::varchar as name, "
                    "null::double precision as none, nullif(i, 2)::real as r, "
                    "gen_random_uuid() as code, interval '36 hours' as lasts "
                    "from generate_series(0, 60000) i"
                )
            yield port
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **quiet)
    finally:
        shutil.rmtree(folder)


def test_postgresql_is_read_and_typed(server, out, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)
    url = f"postgresql://me:${{DB_PASSWORD}}@127.0.0.1:{server}/postgres"
    sql = "select *, '100 %'::text as note from people where name like 'n%' order by id"
    assert read_query(sql, url, out) == 60001
    made = read_typed(out)
    assert made.types == {
        "id": "number",
        "long": "text",
        "amount": "number",
        "ok": "boolean",
        "day": "date",
        "moment": "date",
        "name": "text",
        "r": "number",
        "code": "text",
        "lasts": "number",
        "note": "text",
    }
    assert "left out" in made.made["none"]
    row = made.frame.iloc[3]
    assert row["long"] == "10000000000000003" and row["amount"] == 3.75 and row["day"] == 18265
    assert row["moment"] == pytest.approx(18262 + 10 / 24, abs=1e-9) and row["lasts"] == 1.5
    assert row["name"] == "näme" and row["ok"] == 0 and pd.isna(made.frame["r"][2])


def test_postgresql_takes_the_password_of_its_own_variable(server, out, monkeypatch):
    url = f"postgresql://me@127.0.0.1:{server}/postgres"
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert read_query("select 1 as one", url, out) == 1
    out.unlink()
    assert "refuses the query" in refusal("delete from people", url, out)
    assert "refuses the query" in refusal("select * from nobody", url, out)
    file = out.with_name("more")
    for sql in (
        f"copy people to '{file}'",
        f"copy (select 1) to program 'touch {file}'",
        "select 1; commit; delete from people",
        "select 1; set default_transaction_read_only = off; commit; drop table people",
        "with gone as (delete from people returning *) select * from gone",
        "select * into more from people",
        "vacuum people",
    ):
        assert "refuses the query" in refusal(sql, url, out), sql
    assert read_query("select count(*) as n from people", url, out) == 1
    assert pd.read_parquet(out)["n"].tolist() == [60001]
    out.unlink()
    assert "breaks off" in refusal("select 1 / (id - 55000) from people", url, out)
    monkeypatch.setenv("PGPASSWORD", "another one")
    assert "cannot be reached" in refusal("select 1", url, out)


def test_a_query_that_names_the_answers_of_another_table_waits_for_them(tmp_path, monkeypatch):
    pytest.importorskip("sqlalchemy", reason="the extra sql is not installed")
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("person,region,hired\n1,a,yes\n2,b,no\n")
    answers = "results/panel/accepted.parquet"
    sql = f"select p.* from 'people.csv' p join '{answers}' a using (person) where a.accepted"
    asked = {"sql": sql, "url": "duckdb:///:memory:"}
    tables = {
        "panel": {"table": "people.csv", "id": "person", "balance": "region"},
        "hired": {"table": asked, "id": "person", "outcome": "hired"},
    }
    plan = resolve(with_own_tables({"tables": tables, "results": "results"}, {}))
    stages = Stages(plan, "scripts")
    assert answers in stages.job("deliver", "panel").outputs.values()
    for there in (False, True):
        if there:  # of an earlier run: its content now says nothing of what it will be
            Path(answers).parent.mkdir(parents=True)
            Path(answers).write_text("old")
        job = stages.job("prepare", "hired")
        assert job.inputs == {"files": [], "answers": [answers]}
        assert job.own == ("people.csv",)
    # A file that no study of the plan makes is one of one's own.
    Path("other.parquet").write_text("other")
    tables["hired"]["table"] = asked | {"sql": sql.replace(answers, "other.parquet")}
    plan = resolve(with_own_tables({"tables": tables, "results": "results"}, {}))
    job = Stages(plan, "scripts").job("prepare", "hired")
    assert job.inputs == {"files": []} and job.own == ("people.csv", "other.parquet")
