"""What names of others look like: printable text as it is, everything else as an escape that JSON reads back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.base.visible import visible, visible_lines


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("billing", "billing"),
        ("größte Gruppe, группа, 集团, 👩", "größte Gruppe, группа, 集团, 👩"),
        ("a\\b", "a\\b"),
        ("\x1b[2J\x1b]0;owned\x07", "\\u001b[2J\\u001b]0;owned\\u0007"),
        ("a\nb\rc\td\x00", "a\\nb\\rc\\td\\u0000"),
        ("\x7f\x9b31m\x85", "\\u007f\\u009b31m\\u0085"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("gnillib\u202e \u2066\u200f\u061c", "gnillib\\u202e \\u2066\\u200f\\u061c"),
        ("bill\u200bing\ufeff", "bill\\u200bing\\ufeff"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\udb40\\udc41"),
    ],
)
def test_names(name: str, shown: str) -> None:
    assert visible(name) == shown


@given(st.text(st.characters()))
def test_every_text(text: str) -> None:
    shown = visible(text)
    assert shown.isprintable()
    assert visible(shown) == shown
    shown.encode()
    line = json.dumps(text, ensure_ascii=False)
    assert json.loads(visible(line)) == text, "a line of JSON stays that line"


def test_lines_of_ours_stay_lines() -> None:
    assert visible_lines("one\n\x1btwo") == "one\n\\u001btwo"
