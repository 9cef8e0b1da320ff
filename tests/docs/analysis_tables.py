"""The generated part of docs/reference/tables.md: each table of the schemas with its columns."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pyarrow as pa

from kohort.pipeline.analysis.sql_views import VIEWS
from kohort.pipeline.gold import gold_schemas
from kohort.pipeline.silver import silver_schemas
from tests.docs.column_meanings import meaning
from tests.docs.sources import ROOT

TABLES = ROOT / "docs" / "reference" / "tables.md"
LAYERS = {"gold": gold_schemas, "silver": silver_schemas}
_TYPES = {
    "string": "text",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "bool": "boolean",
}


def schemas() -> str:
    return "\n".join(line for layer in LAYERS for line in _layer(layer))


def _layer(layer: str) -> Iterator[str]:
    yield f"## {layer.capitalize()}\n"
    for table in sorted(name for name, of in VIEWS.items() if of == layer):
        row_type, schema = LAYERS[layer].ROW_TYPES[table], LAYERS[layer].SCHEMAS[table]
        yield f"### {table}\n\n{inspect.getdoc(row_type)}\n"
        yield "| column | type | null | meaning |\n|---|---|---|---|"
        hints = get_type_hints(row_type)
        columns = [(column.name, type_of(column.type), column.name) for column in schema]
        columns += [(new, "timestamp, UTC", moment) for moment, new in LAYERS[layer].MOMENTS[table].items()]
        for name, kind, source in columns:
            if name != "rank":  # views need it, and don't show it
                says = meaning(table, name) if name == source else f"`{source}` as a timestamp."
                yield f"| {name} | {kind} | {'may be' if _may_be_null(hints, source) else ''} | {says} |"
        yield ""


def _may_be_null(hints: dict[str, Any], column: str) -> bool:
    return type(None) in get_args(hints.get(column))


def type_of(kind: pa.DataType) -> str:
    """Return the name of a type on the page."""
    if pa.types.is_list(kind):
        return f"list of {type_of(kind.value_type)}"
    return "map of texts" if pa.types.is_map(kind) else _TYPES.get(str(kind), str(kind))
