"""Names in backticks in documents, docstrings and comments exist."""

from tests.docs.names import unknown_names


def test_names_in_backticks_exist() -> None:
    assert sorted(set(unknown_names())) == []
