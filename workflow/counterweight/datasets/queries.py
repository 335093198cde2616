"""Tables that are the answer to a query: SQLite, DuckDB and PostgreSQL through SQLAlchemy.

Names in braces (``${NAME}``) in the address of a database are filled from the environment when
it is read; nothing that they stand for is written or told.
"""

import contextlib
import os
import re
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from counterweight.errors import ENVIRONMENT, CounterweightError, holds_password, listed
from counterweight.tables.parquet import replacing
from counterweight.tables.table_reader import check_header, first_line

#: Databases, each with the driver that SQLAlchemy is to use and its package.
DRIVERS = {
    "sqlite": ("sqlite", "sqlalchemy"),
    "duckdb": ("duckdb", "duckdb-engine"),
    "postgresql": ("postgresql+psycopg", "psycopg"),
    "postgres": ("postgresql+psycopg", "psycopg"),
    "postgresql+psycopg": ("postgresql+psycopg", "psycopg"),
}
#: Words with which a statement begins that is no query.
_WRITES = ("alter", "attach", "copy", "create", "delete", "drop", "export", "grant", "insert")
_WRITES += ("merge", "truncate", "update", "vacuum")
#: Rows at a time.
ROWS = 50_000
_ENTER = "check the address, the network and who may enter"
_AGAIN = "try again, or correct the SQL"


def read_query(sql, url, path):
    """Write what a query gives as a Parquet file, typed, whole or not at all; count its rows.

    `sql` is one statement that gives rows, run so that it can change nothing. `url` is an address
    as of SQLAlchemy, such as ``sqlite:///file.db`` or
    ``postgresql://${USER}:${PASSWORD}@host/base``. Whatever goes wrong is told without anything
    from the environment.
    """
    where = f"The query of {shown(url)}"
    engine = _engine(url)
    told = engine.url.query.values()
    passwords = [engine.url.password]
    passwords += [word for some in told for word in ([some] if isinstance(some, str) else some)]
    with _told(url, passwords, "cannot be reached", _ENTER):
        connection = engine.connect()
    with contextlib.ExitStack() as closing:
        closing.callback(engine.dispose)
        closing.enter_context(connection)
        with _told(url, passwords, "refuses the query", "correct the SQL"):
            connection = _read_only(engine, connection, url, sql)
            result = connection.execution_options(stream_results=True).execute(_text(sql))
            if not result.returns_rows:
                raise CounterweightError(f"{where} gives no rows: begin it with select.")
        names = list(map(str, result.keys()))
        check_header(where, names, nameless=False)
        tables = []
        with _told(url, passwords, "breaks off while its rows are read", _AGAIN):
            while rows := result.fetchmany(ROWS):
                columns = zip(names, zip(*rows, strict=True), strict=True)
                arrays = [_column(where, name, values) for name, values in columns]
                tables.append(pa.table(arrays, names=names))
    if not tables:
        raise CounterweightError(f"{where} gives no row: there is nothing to learn from.")
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise CounterweightError(
            f"{where} has a column of several types ({first_line(error)}): cast it in the SQL."
        ) from error
    with replacing(path) as temporary:
        pq.write_table(table, temporary)
    return table.num_rows


def shown(url):
    """The address of a database as it may be told: as the config has it, or what begins it."""
    url = str(url)
    if not holds_password(url):
        return url
    return f"{begin}://..." if re.fullmatch(r"[\w+]+", begin := url.partition("://")[0]) else "..."


def check_url(url):
    """Refuse an address that holds a password; see `holds_password`."""
    if holds_password(url):
        raise CounterweightError(
            f"The address {shown(url)} of the table holds a password: write ${{NAME}} in its "
            "place, and set NAME in the environment."
        )


def check_query(sql, url):
    """Refuse what can be told of a query without its database; see `read_query`."""
    check_url(url)
    begins = re.match(r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(\w*)", sql, re.DOTALL)[1]
    if begins.lower() in _WRITES:
        raise CounterweightError(
            f"The query of {shown(url)} begins with {begins}, and a table is read: begin it with "
            "select."
        )
    if not ENVIRONMENT.search(url):
        _check_place(
            url, *re.fullmatch(r"(?:([\w+]+)://)?[^/]*/?([^?]*).*", url, re.DOTALL).groups()
        )


def _check_place(url, driver, database):
    if not driver:
        raise CounterweightError(
            f"The address {shown(url)} of the table is none of a database: write it as "
            "sqlite:///file.db, duckdb:///file.duckdb or postgresql://host/base."
        )
    if driver not in DRIVERS:
        raise CounterweightError(
            f"The address {shown(url)} of the table is of a database that is not read here: use "
            "sqlite, duckdb or postgresql, or give a file."
        )
    inner = database in (None, "", ":memory:")
    if DRIVERS[driver][0] in ("sqlite", "duckdb") and not inner and not Path(database).is_file():
        raise CounterweightError(
            f"The database of the address {shown(url)} is not there: correct the path."
        )


def _filled(url):
    """The address with the names filled from the environment."""
    absent = sorted({name for name in ENVIRONMENT.findall(url) if not os.environ.get(name)})
    if absent:
        raise CounterweightError(
            f"The environment has no {listed(absent)}, which the address {shown(url)} of the "
            "table names: set it before you run."
        )
    # A name or password may hold signs that have a meaning in an address.
    begin, at, rest = url.rpartition("@")
    place, asked, options = rest.partition("?")
    begin, options = (
        ENVIRONMENT.sub(lambda found: quote(os.environ[found[1]], safe=""), part)
        for part in (begin, options)
    )
    place = ENVIRONMENT.sub(lambda found: os.environ[found[1]], place)
    return begin + at + place + asked + options


def _engine(url):
    check_url(url)
    try:
        import sqlalchemy
    except ModuleNotFoundError as error:
        raise CounterweightError(
            "A query as the table needs the package sqlalchemy: pip install 'counterweight[sql]'."
        ) from error
    given = None
    with contextlib.suppress(Exception):
        given = sqlalchemy.engine.make_url(_filled(url))
    if given is None:
        _filled(url)
    _check_place(url, given and given.drivername, given and given.database)
    driver, package = DRIVERS[given.drivername]
    options = {}
    if driver in ("sqlite", "duckdb"):
        inner = given.database in (None, "", ":memory:")
        if driver == "duckdb" and not inner:
            options = {"connect_args": {"read_only": True}}
        if driver == "sqlite" and not inner:
            import sqlite3

            # SQLAlchemy asks its connections from any thread, one at a time.
            address = f"file:{quote(str(Path(given.database).absolute()))}?mode=ro"
            told = {"uri": True, "check_same_thread": False}
            options = {"creator": lambda: sqlite3.connect(address, **told)}
    try:
        return sqlalchemy.create_engine(given.set(drivername=driver), **options)
    except (ModuleNotFoundError, sqlalchemy.exc.NoSuchModuleError) as error:
        raise CounterweightError(
            f"The address {shown(url)} of the table needs the package {package}: "
            "pip install 'counterweight[sql]'."
        ) from error


@contextlib.contextmanager
def _told(url, passwords, problem, todo):
    """Turn errors of a database into one sentence that nothing secret stands in."""
    try:
        yield
    except CounterweightError:
        raise
    except Exception as error:
        reason = first_line(getattr(error, "orig", None) or error)
        values = [os.environ.get(name, "") for name in ENVIRONMENT.findall(url)]
        values += [word for word in (os.environ.get("PGPASSWORD"), *passwords) if word]
        values += [quote(value, safe="") for value in values]
        # What is as short as a letter cannot be taken out of a sentence.
        short = any(len(value) < 3 for value in values)
        for value in sorted(values, key=len, reverse=True):
            reason = reason.replace(value, "...")
        message = f"{shown(url)} {problem}{'' if short else f' ({reason})'}: {todo}."
    else:
        return
    # Without the error behind it, which holds the address as filled.
    raise CounterweightError(message) from None


#: What a query of SQLite may do.
_MAY = ("SQLITE_SELECT", "SQLITE_READ", "SQLITE_FUNCTION", "SQLITE_RECURSIVE")


def _read_only(engine, connection, url, sql):
    """A connection by which one query can change nothing, neither in the database nor in files.

    Databases that are files are opened for reading alone; see `_engine`.
    """
    driver = connection.connection.driver_connection
    if engine.dialect.name == "sqlite":
        import sqlite3

        may = {getattr(sqlite3, name) for name in _MAY}
        # `vacuum into` and `attach` would make files.
        driver.set_authorizer(
            lambda action, *_: sqlite3.SQLITE_OK if action in may else sqlite3.SQLITE_DENY
        )
    if engine.dialect.name == "duckdb":
        import duckdb

        # `copy to`, `export` and `attach` would make files; several statements would be run.
        kinds = [one.type for one in duckdb.extract_statements(sql)]
        if kinds != [duckdb.StatementType.SELECT]:
            raise CounterweightError(
                f"{shown(url)} refuses the query (it is not one select): begin it with select, "
                "and leave out what follows it."
            )
    if engine.dialect.name == "postgresql":
        # It is declared as a cursor, which neither `copy` nor a second statement can be.
        return connection.execution_options(postgresql_readonly=True)
    return connection


def _text(sql):
    import sqlalchemy

    # A colon before a word is part of the query, not a name to be filled.
    return sqlalchemy.text(re.sub(r"(?<![:\\]):(?=\w)", r"\\:", sql.strip().rstrip(";")))


def _column(where, name, values):
    """Values of a database as an Arrow array."""
    try:
        made = pa.array(values)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        kinds = sorted({type(value).__name__ for value in values if value is not None})
        if set(kinds) <= {"int", "float", "Decimal"}:
            return pa.array([None if value is None else float(value) for value in values])
        if len(kinds) > 1:
            raise CounterweightError(
                f"{where} has the column {name!r} of several types ({listed(kinds)}): cast it in "
                "the SQL."
            ) from error
        return pa.array([None if value is None else str(value) for value in values])
    if pa.types.is_decimal(made.type):
        whole = made.type.scale <= 0
        return made.cast(pa.decimal128(38, 0) if whole else pa.float64())
    return made if not isinstance(made, pa.ExtensionArray) else pa.array(map(str, values))


def named_in(sql):
    """What a query has in quotes: of DuckDB it may be files."""
    return re.findall("'([^']+)'", sql)


def files_of(sql, url):
    """Files that a query reads on this machine: its database, and of DuckDB those that it names.

    Only those that are there; none of a database on a server. See `named_in` for those that a run
    makes itself.
    """
    import glob

    import sqlalchemy

    names = []
    with contextlib.suppress(CounterweightError, sqlalchemy.exc.ArgumentError):
        given = sqlalchemy.engine.make_url(_filled(url))
        driver = given.drivername.partition("+")[0]
        if driver in ("sqlite", "duckdb") and given.database:
            # What was written last may stand in a file beside it.
            names = [given.database, f"{given.database}-wal", f"{given.database}.wal"]
        if driver == "duckdb":
            named = named_in(sql)
            names += [file for name in named for file in sorted(glob.glob(name, recursive=True))]
    return [name for name in dict.fromkeys(names) if os.path.isfile(name) and os.stat(name).st_size]


def prepare_query(job):
    """The job of the stage prepare: the table of what a query gives; see `own_table.prepare`."""
    from counterweight.datasets.own_table import prepare

    query, path = job.given["query"], f"{job.output.table}.query.parquet"
    try:
        read_query(query["sql"], query["url"], path)
        prepare(job, path)
    finally:
        if os.path.exists(path):
            os.unlink(path)
