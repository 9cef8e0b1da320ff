"""Patterns are RE2's, and no pattern takes long."""

import pytest

from kohort.coordinator.consumer.patterns import find_regex_error, matcher


@pytest.mark.parametrize(
    ("regex", "reason"),
    [
        ("(foo", "missing closing )"),
        ("[a", "missing closing ]"),
        ("a(?=b)", "invalid or unsupported Perl syntax"),
        (r"(a)\1", "invalid escape sequence"),
        ("a**", "invalid nested repetition operator"),
        ("a{2000}", "invalid repeat count"),
    ],
)
def test_unsupported_re2_syntax_is_rejected(regex: str, reason: str) -> None:
    assert find_regex_error(regex) == reason


def test_pattern_matches_whole_names() -> None:
    assert find_regex_error("fo+") is None
    assert [name for name in ("foo", "fo", "food", "a-foo") if matcher("fo+")(name)] == ["foo", "fo"]


def test_catastrophic_pattern_takes_linear_time() -> None:
    assert not matcher("(a|aa|a?)*$")("a" * 249 + "!")
