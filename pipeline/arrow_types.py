"""Arrow types as Python types: table columns are defined once, for mypy, Arrow and the reader.

A row type is a dataclass or a TypedDict whose annotations define the column types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from types import NoneType
from typing import Annotated, Any, NotRequired, TypeVar, get_args, get_origin, get_type_hints

import pyarrow as pa

Int8 = Annotated[int, pa.int8()]
Int16 = Annotated[int, pa.int16()]
Int32 = Annotated[int, pa.int32()]
Int64 = Annotated[int, pa.int64()]
_MOMENT = "moment"
# milliseconds since 1970, UTC; a plain Int64 whose name ends in `_ms` is a duration
Moment = Annotated[int, pa.int64(), _MOMENT]
TextMap = Annotated[dict[str, str], pa.map_(pa.string(), pa.string())]

_PLAIN = {str: pa.string(), bytes: pa.binary(), bool: pa.bool_(), float: pa.float64()}

RowT = TypeVar("RowT")


def schema_of(row_type: type) -> pa.Schema:
    """Return the schema of a row type. All columns are nullable."""
    return pa.schema([(name, _arrow(hint)) for name, hint in get_type_hints(row_type, include_extras=True).items()])


def moments_of(row_type: type) -> dict[str, str]:
    """Map time columns to the names of their timestamps: `start_ms` to `start_at`."""
    hints = get_type_hints(row_type, include_extras=True)
    return {name: f"{name.removesuffix('_ms')}_at" for name, hint in hints.items() if _is_moment(hint)}


def _is_moment(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        return _MOMENT in hint.__metadata__
    return any(map(_is_moment, get_args(hint)))


def _arrow(hint: Any) -> pa.DataType:
    if get_origin(hint) is Annotated:
        return hint.__metadata__[0]
    if get_origin(hint) is NotRequired:
        return _arrow(get_args(hint)[0])
    arguments = [argument for argument in get_args(hint) if argument is not NoneType]
    if get_origin(hint) is list:
        return pa.list_(_arrow(arguments[0]))
    return _arrow(arguments[0]) if arguments else _PLAIN[hint]


def column_of(rows: Iterable[Any], column: pa.Field) -> pa.Array:
    values = map(attrgetter(column.name), rows)
    if pa.types.is_map(column.type):
        return pa.array([None if value is None else list(value.items()) for value in values], column.type)
    return pa.array(list(values), column.type)


def rows_of(row_type: Callable[..., RowT], names: Iterable[str], table: pa.Table) -> list[RowT]:
    """Return the rows of a table as objects.

    Args:
        names: Columns that the row type takes.
    """
    names = list(names)
    columns = [_values(table[name]) for name in names]
    return [row_type(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)]


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_map(column.type):
        return [None if value is None else dict(value) for value in column.to_pylist()]
    values: list[Any] = column.to_pylist()
    return values
