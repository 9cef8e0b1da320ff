"""The table of record types in docs/behaviour lists the types that kohort writes."""

import re

from kohort.coordinator.consumer.values import Kind
from kohort.protocol.records.layouts import GROUP_METADATA, OFFSET_COMMIT
from tests.docs.citations import sections

_ROW = re.compile(r"^\| (?P<types>[0-9, to]+) \|.*\| (?P<written>[^|]+) \|$", re.MULTILINE)


def test_table_lists_written_types() -> None:
    written = set()
    for row in _ROW.finditer(sections()["offsets-topic", "4"]):
        if row["written"].isdecimal():
            written.add(int(row["written"]))
        elif row["written"] != "no":
            written.add(int(row["types"]))
    assert written == {OFFSET_COMMIT, GROUP_METADATA, *Kind}
