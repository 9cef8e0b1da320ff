"""SQL that opens the tables as views: `duckdb.sql` and `spark.sql` beside them.

Views show what readers of files would have to know. A record that several sources hold is there once, hidden and
outdated files are left out, moments are timestamps, and a table that has no rows is empty rather than missing.
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
}
"""The views, and the layer that each shows. Issues of the data are in gold, whole."""
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
    """What two engines write differently. Files, timestamp and types are patterns."""

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
        """A column's name, whatever words are reserved."""
        return f"{self.quote}{name}{self.quote}"

    def type_of(self, kind: pa.DataType) -> str:
        """A type of Arrow in SQL."""
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


_HADOOPS = re.compile(r"^s3n?://")
"""Spark reaches S3 by Hadoop's file system of this name."""


def write_views(folder: Place, tables: Place) -> None:
    """Writes the files into a folder. They hold the absolute place of the tables: what was moved needs them anew."""
    tables = tables if isinstance(tables, StoredPlace) else tables.absolute()
    for dialect in (DUCKDB, SPARK):
        replace_text(folder / f"{dialect.name}.sql", views_sql(tables, dialect))


def views_sql(tables: Place, dialect: Dialect) -> str:
    """Statements that end in a semicolon, each on lines of its own."""
    written = {layer: _written(tables / layer) for layer in ("gold", "silver")}
    text = dialect.head
    for table, layer in VIEWS.items():
        select = _select(tables / layer / table, table, layer, dialect, table in written[layer])
        text += f"{dialect.view} {table} AS {select};\n"
    return text


def _written(layer: Place) -> set[str]:
    """The tables that have rows. One listing tells of all: in a store each is a request."""
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
    """A path within quotes. DuckDB's are those of a text, Spark's those of a name."""
    quote = "'" if dialect is DUCKDB else "`"
    return path.replace(quote, 2 * quote)


def _columns(table: str, layer: str, dialect: Dialect) -> Iterator[str]:
    if layer == "gold":
        for name in gold_schemas.SCHEMAS[table].names:
            # Both would make a date of the folder's name, but for issues without a day.
            yield f"CAST({dialect.column(name)} AS STRING) AS day" if name == "day" else dialect.column(name)
        yield from map(dialect.column, gold_schemas.MOMENTS[table].values())
        return
    yield from map(dialect.column, _shown(table))
    for moment, timestamp in silver_schemas.MOMENTS[table].items():
        yield f"{dialect.timestamp.format(dialect.column(moment))} AS {dialect.column(timestamp)}"


def _no_values(table: str, layer: str, dialect: Dialect) -> Iterator[str]:
    schemas, moments = (
        (gold_schemas.SCHEMAS, gold_schemas.MOMENTS)
        if layer == "gold"
        else (silver_schemas.SCHEMAS, silver_schemas.MOMENTS)
    )
    names = schemas[table].names if layer == "gold" else _shown(table)
    for name in names:
        yield f"CAST(NULL AS {dialect.type_of(schemas[table].field(name).type)}) AS {dialect.column(name)}"
    for timestamp in moments[table].values():
        yield f"CAST(NULL AS {dialect.timestamp_type}) AS {dialect.column(timestamp)}"


def _shown(table: str) -> list[str]:
    """How much a source is to be believed has done its work when each record is there once."""
    return [name for name in silver_schemas.SCHEMAS[table].names if name != "rank" or table == "log_ranges"]


def _once(table: str, files: str, dialect: Dialect) -> str:
    """The rows of files, each once; of a record that several sources hold those of the one that knows most of it."""
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
