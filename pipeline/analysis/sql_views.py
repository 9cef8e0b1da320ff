"""SQL files that open the tables as views, in `duckdb.sql` and `spark.sql` next to the tables.

Views contain what readers of the files would have to know. A record from several sources appears once, hidden and
outdated files are left out, times are timestamps, and a table without rows is empty rather than missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from kohort.pipeline.gold import gold_schemas
from kohort.pipeline.remote_path import Place, StoredPlace
from kohort.pipeline.silver import silver_schemas
from kohort.pipeline.silver.silver_schemas import COUNTS_ONCE, RECORD
from kohort.pipeline.whole_files import replace_text

VIEWS = dict.fromkeys(gold_schemas.SCHEMAS, "gold") | {
    table: "silver" for table in silver_schemas.SCHEMAS if table not in gold_schemas.SCHEMAS
}  # views and their layer; issues of the data are in gold, complete
_NUMBERS = {
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Differences between the SQL of two engines. Files, timestamp and types are patterns."""

    name: str
    head: str
    view: str
    quote: str
    gold: str
    silver: str
    timestamp: str
    timestamp_type: str
    list_type: str
    map_type: str

    def column(self, name: str) -> str:
        """Return a column's name, quoted in case it is a reserved word."""
        return f"{self.quote}{name}{self.quote}"

    def type_of(self, kind: pa.DataType) -> str:
        if pa.types.is_list(kind):
            return self.list_type.format(_NUMBERS[kind.value_type])
        return self.map_type if pa.types.is_map(kind) else _NUMBERS[kind]


DUCKDB = Dialect(
    name="duckdb",
    head="SET TimeZone = 'UTC';\n",
    view="CREATE OR REPLACE VIEW",
    quote='"',
    gold="read_parquet('{}/day=*/part-*.parquet', hive_partitioning = true, union_by_name = true)",
    silver="read_parquet('{}/batch=*/part-*.parquet', hive_partitioning = false)",
    timestamp="make_timestamptz(1000 * {})",
    timestamp_type="TIMESTAMPTZ",
    list_type="{}[]",
    map_type="MAP(STRING, STRING)",
)
SPARK = Dialect(
    name="spark",
    head="",
    view="CREATE OR REPLACE TEMPORARY VIEW",
    quote="`",
    gold="parquet.`{}`",
    silver="parquet.`{}`",
    timestamp="timestamp_millis({})",
    timestamp_type="TIMESTAMP",
    list_type="ARRAY<{}>",
    map_type="MAP<STRING, STRING>",
)


_HADOOPS = re.compile(r"^s3n?://")  # name of Hadoop's file system for S3, which Spark uses


def write_views(folder: Place, tables: Place, named: Place | None = None) -> None:
    """Write the SQL files into a folder.

    Args:
        named: Path of the tables in the files. By default it is absolute: tables that were moved need new files.
    """
    tables = tables if isinstance(tables, StoredPlace) else tables.absolute()
    for dialect in (DUCKDB, SPARK):
        replace_text(folder / f"{dialect.name}.sql", views_sql(tables, dialect, named))


def views_sql(tables: Place, dialect: Dialect, named: Place | None = None) -> str:
    """Return statements that end in a semicolon, each on its own lines."""
    named = tables if named is None else named
    written = {layer: _written(tables / layer) for layer in ("gold", "silver")}
    text = dialect.head
    for table, layer in VIEWS.items():
        select = _select(named / layer / table, table, layer, dialect, table in written[layer])
        text += f"{dialect.view} {table} AS {select};\n"
    return text


def _written(layer: Place) -> set[str]:
    """Return the tables with rows by a single listing, as each is a request to a store."""
    files: list[Place] = list(layer.glob("*/*/part-*.parquet"))
    return {path.parent.parent.name for path in files}


def _select(place: Place, table: str, layer: str, dialect: Dialect, has_rows: bool) -> str:
    if not has_rows:
        return f"SELECT {', '.join(_no_values(table, layer, dialect))} WHERE 1 = 0"
    columns = ", ".join(_columns(table, layer, dialect))
    path = str(place) if dialect is DUCKDB else _HADOOPS.sub("s3a://", str(place))
    if layer == "gold":
        return f"SELECT {columns} FROM {dialect.gold.format(_inside(path, dialect))}"
    return f"SELECT {columns} FROM {_once(table, dialect.silver.format(_inside(path, dialect)), dialect)}"


def _inside(path: str, dialect: Dialect) -> str:
    """Escape a path within quotes: DuckDB's is a text, Spark's a name."""
    quote = "'" if dialect is DUCKDB else "`"
    return path.replace(quote, 2 * quote)


def _columns(table: str, layer: str, dialect: Dialect) -> Iterator[str]:
    if layer == "gold":
        for name in gold_schemas.SCHEMAS[table].names:
            # Both would make a date of the folder's name, but for issues without a day.
            yield f"CAST({dialect.column(name)} AS STRING) AS day" if name == "day" else dialect.column(name)
        yield from map(dialect.column, gold_schemas.MOMENTS[table].values())
        return
    yield from map(dialect.column, _visible_columns(table))
    for moment, timestamp in silver_schemas.MOMENTS[table].items():
        yield f"{dialect.timestamp.format(dialect.column(moment))} AS {dialect.column(timestamp)}"


def _no_values(table: str, layer: str, dialect: Dialect) -> Iterator[str]:
    schemas, moments = (
        (gold_schemas.SCHEMAS, gold_schemas.MOMENTS)
        if layer == "gold"
        else (silver_schemas.SCHEMAS, silver_schemas.MOMENTS)
    )
    names = schemas[table].names if layer == "gold" else _visible_columns(table)
    for name in names:
        yield f"CAST(NULL AS {dialect.type_of(schemas[table].field(name).type)}) AS {dialect.column(name)}"
    for timestamp in moments[table].values():
        yield f"CAST(NULL AS {dialect.timestamp_type}) AS {dialect.column(timestamp)}"


def _visible_columns(table: str) -> list[str]:
    return [name for name in silver_schemas.SCHEMAS[table].names if name != "rank" or table == "log_ranges"]


def _once(table: str, files: str, dialect: Dialect) -> str:
    """Return a query for the distinct rows of files; of a record from several sources those with the lowest rank."""
    names = silver_schemas.SCHEMAS[table].names
    if table == "log_ranges":  # a row is a reading: two of the same records are two
        return files
    if table not in COUNTS_ONCE:
        return f"(SELECT DISTINCT {', '.join(map(dialect.column, names))} FROM {files}) AS once"
    key, record = (", ".join(map(dialect.column, columns)) for columns in (COUNTS_ONCE[table], RECORD))
    if "rank" not in names:
        some = dialect.column("seq")
        nth = f"row_number() OVER (PARTITION BY {key} ORDER BY {some}) AS nth"
        return f"(SELECT *, {nth} FROM {files}) AS once WHERE nth = 1"
    rank = dialect.column("rank")
    nth = f"row_number() OVER (PARTITION BY {key} ORDER BY {rank}) AS nth"
    best = f"min({rank}) OVER (PARTITION BY {record}) AS best"
    return f"(SELECT *, {nth}, {best} FROM {files}) AS once WHERE nth = 1 AND {rank} = best"
