"""Documents, docstrings and comments name in backticks what there is."""

from tests.docs.names import unknown_names


def test_names_in_backticks_exist() -> None:
    assert sorted(set(unknown_names())) == []
