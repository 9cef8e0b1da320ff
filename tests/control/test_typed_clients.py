"""The parts of `clients/` that are made from `/openapi.json` say what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.control.typed_clients.document import Type, read_document, served_document
from tests.control.typed_clients.files import made_files

MADE = made_files()


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_a_made_file_is_current(path: Path) -> None:
    assert path.read_text() == MADE[path], "run: python -m tests.control.typed_clients"


def test_every_operation_and_every_shape_is_read() -> None:
    served = served_document()
    document = read_document(served)
    ids = [operation["operationId"] for methods in served["paths"].values() for operation in methods.values()]
    assert [f"{each.subject}_{each.name}" for each in document.operations] == ids
    assert set(served["components"]["schemas"]) <= set(document.shapes)


def test_what_may_be_null_and_what_may_be_left_out_differ() -> None:
    shapes = read_document(served_document()).shapes
    member = next(each for each in shapes["Freeze"].properties if each.name == "member")
    assert (member.required, member.type) == (False, Type("string", nullable=True))
    coordinator = next(each for each in shapes["GroupState"].properties if each.name == "coordinator")
    assert (coordinator.required, coordinator.type) == (True, Type("integer", nullable=True))
