"""Patterns are RE2's, and no pattern takes long."""

import sys

import pytest

from kohort.coordinator.consumer.patterns import WITHOUT_RE2, find_regex_error, matcher

RE2 = pytest.mark.needs("re2")


@RE2
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


def test_patterns_without_re2_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert find_regex_error("fo+") == WITHOUT_RE2
    assert not matcher("fo+")("foo")


@RE2
def test_pattern_matches_whole_names() -> None:
    assert find_regex_error("fo+") is None
    assert [name for name in ("foo", "fo", "food", "a-foo") if matcher("fo+")(name)] == ["foo", "fo"]


@RE2
def test_catastrophic_pattern_takes_linear_time() -> None:
    assert not matcher("(a|aa|a?)*$")("a" * 249 + "!")
