"""Principals, read and shown."""

import pytest

from kohort.security.principal import ANONYMOUS, Principal, PrincipalError, parse_principal


def test_principal_text() -> None:
    assert str(Principal("User", "alice")) == "User:alice"
    assert str(ANONYMOUS) == "User:ANONYMOUS"


@pytest.mark.parametrize("text", ["User:alice", "User:CN=alice,OU=people", "Team:a:b", "User:", ":x", "user:ALICE"])
def test_shown_principal_is_readable(text: str) -> None:
    assert str(parse_principal(text)) == text


def test_type_ends_at_first_colon() -> None:
    assert parse_principal("User:a:b") == Principal("User", "a:b")


def test_rejects_text_without_colon() -> None:
    with pytest.raises(PrincipalError, match="Could not parse principal from `alice` \\(no colon is present"):
        parse_principal("alice")


def test_upper_and_lower_case_are_different() -> None:
    assert len({parse_principal(each) for each in ("User:a", "User:A", "user:a")}) == 3
