"""Documents, docstrings and comments name in backticks what there is."""

from tests.docs.names import unknown_names


def test_whatever_is_named_in_backticks_is_there() -> None:
    assert sorted(set(unknown_names())) == []
