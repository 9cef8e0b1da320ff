"""Tables of README and docs, and the fixtures and options of the pytest plugin in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

import pytest

from kohort.testing.plugin import OPTIONS
from tests.docs.blocks import PAGES
from tests.docs.reference import public_fixtures
from tests.docs.sources import ROOT, documents

_FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_MARK = re.compile(r"pytest\.mark\.kafka\(((?:[^()]|\([^()]*\))*)\)")
_NESTED = re.compile(r"\([^()]*\)")
MAX_CELL = 200  # characters
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")


def tables(text: str) -> Iterator[list[str]]:
    """Yield the rows of each table, the header first."""
    lines = _FENCED.sub("", text).splitlines()
    for is_table, rows in groupby(lines, lambda line: line.lstrip().startswith("|")):
        if is_table:
            yield [row.strip() for row in rows]


def ragged_rows(text: str) -> list[str]:
    """Return the rows that do not have as many cells as their header."""
    return [
        row for header, *rows in tables(text) for row in rows if _cells(row) != _cells(header) or not row.endswith("|")
    ]


def _cells(row: str) -> int:
    return len(_BETWEEN_CELLS.split(row)) - 2


def test_finds_row_with_surplus_cell() -> None:
    assert ragged_rows("| a | b |\n|---|---|\n| 1 | 2 |\n| 1 | 2 | 3 |\n| 1 \\| 2 | 3 |\n") == ["| 1 | 2 | 3 |"]


def test_cells_hold_phrases() -> None:
    long_cells = [
        f"{page.name}: {cell}"
        for page in PAGES
        if "behaviour" not in page.parts  # a specification, whose rules are sentences
        for rows in tables(page.read_text())
        for row in rows
        for cell in _BETWEEN_CELLS.split(row)
        if len(cell.strip()) > MAX_CELL
    ]
    assert long_cells == []


def test_rows_have_cells_of_header() -> None:
    ragged = {str(page): rows for page in documents() if (rows := ragged_rows(page.read_text()))}
    assert ragged == {}


def test_marks_have_known_options() -> None:
    marks = [mark for page in documents() for mark in _MARK.findall(page.read_text())]
    assert len(marks) > 3
    assert {option for mark in marks for option in re.findall(r"(\w+)=", _NESTED.sub("", mark))} <= set(OPTIONS)


@pytest.mark.parametrize("page", ["docs/reference/pytest.md", "docs/how-to/laboratory.md"])
@pytest.mark.parametrize("fixture", public_fixtures())
def test_page_names_each_fixture(page: str, fixture: str) -> None:
    assert f"`{fixture}`" in "".join(row for rows in tables((ROOT / page).read_text()) for row in rows)
