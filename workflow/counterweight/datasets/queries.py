"""Tables that are the answer to a query: SQLite, DuckDB and PostgreSQL through SQLAlchemy.

Names in braces (``${NAME}``) in the address of a database are filled from the environment when
it is read; nothing that they stand for is written or told.
"""

import contextlib
import os
import re
from pathlib import Path
from urllib.parse import quote

from counterweight.errors import CounterweightError, listed
from counterweight.files.people import check_header, first_line
from counterweight.files.tables import replacing

#: Databases, each with the driver that SQLAlchemy is to use and its package.
DRIVERS = {
    "sqlite": ("sqlite", "sqlalchemy"),
    "duckdb": ("duckdb", "duckdb-engine"),
    "postgresql": ("postgresql+psycopg", "psycopg"),
    "postgres": ("postgresql+psycopg", "psycopg"),
    "postgresql+psycopg": ("postgresql+psycopg", "psycopg"),
}
#: Rows at a time.
ROWS = 50_000
_ENTER = "check the address, the network and who may enter"
_AGAIN = "try again, or correct the SQL"
_NAME = re.compile(r"\$\{(\w+)\}")
_SECRET = re.compile(r"[?&][^=&]*(password|passwd|pwd|token|secret)[^=&]*=([^&]*)", re.IGNORECASE)


def read_query(sql, url, path):
    """Write what a query gives as a Parquet file, typed, whole or not at all.

    Parameters
    ----------
    sql : str
        One statement that gives rows. It is run so that it can change nothing.
    url : str
        Address of the database as of SQLAlchemy: ``sqlite:///file.db``,
        ``duckdb:///file.duckdb``, ``postgresql://${USER}:${PASSWORD}@host/base``.
    path : str or Path
        Of the file.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    CounterweightError
        One sentence without anything from the environment: a password in `url` itself, a name
        that the environment has not, a package that is not there, a database that cannot be
        reached, a query that fails or gives no row, a column of mixed types.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    where = f"The query of {shown(url)}"
    engine = _engine(url)
    password = engine.url.password
    with _told(url, password, "cannot be reached", _ENTER):
        connection = engine.connect()
    with contextlib.ExitStack() as closing:
        closing.callback(engine.dispose)
        closing.enter_context(connection)
        with _told(url, password, "refuses the query", "correct the SQL"):
            if engine.dialect.name == "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)
            if engine.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA query_only = ON")
            result = connection.execution_options(stream_results=True).execute(_text(sql))
            if not result.returns_rows:
                raise CounterweightError(f"{where} gives no rows: begin it with select.")
        names = list(map(str, result.keys()))
        check_header(where, names, nameless=False)
        tables = []
        with _told(url, password, "breaks off while its rows are read", _AGAIN):
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
    """The address of a database as it may be told: as the config has it, without a password."""
    return re.sub(r"(://[^/@:]*):[^@]*@", r"\1@", _SECRET.sub("", str(url)))


def check_url(url):
    """Refuse an address that holds a password.

    Parameters
    ----------
    url : str

    Raises
    ------
    CounterweightError
    """
    held = re.search(r"://[^/@]*?:([^@]*)@", url)
    secrets = [held[1]] if held else []
    secrets += [value for _, value in _SECRET.findall(url)]
    if any(_NAME.sub("", secret) for secret in secrets):
        raise CounterweightError(
            f"The address {shown(url)} of the table holds a password: write ${{NAME}} in its "
            "place, and set NAME in the environment."
        )


def _filled(url):
    """The address with the names filled from the environment."""
    absent = sorted({name for name in _NAME.findall(url) if not os.environ.get(name)})
    if absent:
        raise CounterweightError(
            f"The environment has no {listed(absent)}, which the address {shown(url)} of the "
            "table names: set it before you run."
        )
    # A name or password may hold signs that have a meaning in an address.
    begin, at, rest = url.rpartition("@")
    begin = _NAME.sub(lambda found: quote(os.environ[found[1]], safe=""), begin)
    return begin + at + _NAME.sub(lambda found: os.environ[found[1]], rest)


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
        raise CounterweightError(
            f"The address {shown(url)} of the table is none of a database: write it as "
            "sqlite:///file.db, duckdb:///file.duckdb or postgresql://host/base."
        )
    if given.drivername not in DRIVERS:
        raise CounterweightError(
            f"The address {shown(url)} of the table is of a database that is not read here: use "
            "sqlite, duckdb or postgresql, or give a file."
        )
    driver, package = DRIVERS[given.drivername]
    options = {}
    if driver in ("sqlite", "duckdb"):
        inner = given.database in (None, "", ":memory:")
        if not inner and not Path(given.database).is_file():
            raise CounterweightError(
                f"The database of the address {shown(url)} is not there: correct the path."
            )
        if driver == "duckdb" and not inner:
            options = {"connect_args": {"read_only": True}}
    try:
        return sqlalchemy.create_engine(given.set(drivername=driver), **options)
    except (ModuleNotFoundError, sqlalchemy.exc.NoSuchModuleError) as error:
        raise CounterweightError(
            f"The address {shown(url)} of the table needs the package {package}: "
            "pip install 'counterweight[sql]'."
        ) from error


@contextlib.contextmanager
def _told(url, password, problem, todo):
    """Turn errors of a database into one sentence that nothing secret stands in."""
    try:
        yield
    except CounterweightError:
        raise
    except Exception as error:
        reason = first_line(getattr(error, "orig", None) or error)
        values = [os.environ.get(name, "") for name in _NAME.findall(url)]
        values += [word for word in (os.environ.get("PGPASSWORD"), password) if word]
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


def _text(sql):
    import sqlalchemy

    # A colon before a word is part of the query, not a name to be filled.
    return sqlalchemy.text(re.sub(r"(?<![:\\]):(?=\w)", r"\\:", sql.strip().rstrip(";")))


def _column(where, name, values):
    """Values of a database as an Arrow array."""
    import pyarrow as pa

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
