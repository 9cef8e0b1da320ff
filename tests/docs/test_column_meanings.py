"""Every column of the tables has a description."""

from __future__ import annotations

from tests.docs.analysis_tables import LAYERS
from tests.docs.column_meanings import EVERYWHERE, OF_TABLE, meaning

COLUMNS = {table: {*schema.names} - {"rank"} for layer in LAYERS.values() for table, schema in layer.SCHEMAS.items()}


def test_each_column_has_a_sentence() -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            assert meaning(table, column).endswith("."), (table, column)


def test_no_stale_column_descriptions() -> None:
    assert EVERYWHERE.keys() <= set().union(*COLUMNS.values())
    for table, columns in OF_TABLE.items():
        assert columns.keys() <= COLUMNS[table], table
        assert not columns.items() & EVERYWHERE.items(), table
