"""Files of recorded conversations: valid ones are read completely, others are rejected with one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from kohort.proxy.talk.talk_file import Talk, TalkError, read_talk
from kohort.proxy.talk.talk_lines import FIRST_LINE
from tests.proxy.talks import BEATS


def read(folder: Path, text: str | bytes) -> Talk:
    """Read a file with this text."""
    path = folder / "x.talk"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_talk(path)


def test_responses_match_oldest_request(tmp_path: Path) -> None:
    talk = read(tmp_path, BEATS)
    first, second, third = talk.requests
    assert [first.answer and first.answer.at_ms, second.answer and second.answer.at_ms] == [6, 5]
    assert third.answer is None, "its client was killed"
    assert first.values["generation_id"] == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", f"x.talk is not a recorded conversation: its first line must be `{FIRST_LINE}`"),
        ("# The leader leaves.\n", f"x.talk is not a recorded conversation: its first line must be `{FIRST_LINE}`"),
        (b"\x1f\x8b\x08\xff" * 90, f"x.talk is not a recorded conversation: its first line must be `{FIRST_LINE}`"),
        ("# kohort talk 2\n", "x.talk is a talk of version 2; this kohort plays version 1"),
        (
            BEATS.replace("$ada}", "$ada", 1),
            "x.talk:4: cannot follow 'ada Heartbeat v4 {group_id: billing, ",
        ),
        (BEATS.replace("ada Heartbeat", "eve Heartbeat", 1), "x.talk:4: eve is not connected"),
        (BEATS.replace("bob connects", "ada connects"), "x.talk:3: ada is connected already"),
        (BEATS.replace("Heartbeat v4", "Heartbeat v99"), "x.talk:4: this kohort does not support Heartbeat v99"),
        (BEATS.replace("Heartbeat v4", "Fetch v12"), "x.talk:4: Fetch is not part of conversations"),
        (BEATS.replace("generation_id: 1", "generation: 1"), "x.talk:4: Heartbeat has no field generation; it has "),
        (BEATS + "9 ms  ada <- NONE\n" * 2, "x.talk:11: a response without a request"),
        (BEATS.encode() + b"9 ms  ada \xff\n", "x.talk:10: not valid UTF-8"),
    ],
)
def test_unplayable_file_is_one_line(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(TalkError) as refused:
        read(tmp_path, text)
    assert str(refused.value).startswith(sentence)


def test_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TalkError, match=r"nothing.talk can't be read: No such file or directory"):
        read_talk(tmp_path / "nothing.talk")
    with pytest.raises(TalkError, match="Is a directory"):
        read_talk(tmp_path)


@pytest.mark.parametrize("cut", range(1, 40))
def test_truncated_file_keeps_whole_lines(tmp_path: Path, cut: int) -> None:
    whole = BEATS.encode()
    lines = whole[:-cut].count(b"\n")
    talk = read(tmp_path, whole[:-cut])
    assert talk.cut_off == (f"it was cut off in line {lines + 1}" if whole[-cut - 1 : -cut] != b"\n" else "")
    assert [step.number for step in talk.steps] == list(range(2, lines + 1))


def test_lines_after_gap_are_not_replayed(tmp_path: Path) -> None:
    lines = BEATS.splitlines(keepends=True)
    talk = read(tmp_path, "".join([*lines[:4], "lost 12 lines\n", *lines[6:]]))
    assert talk.cut_off == "lines were lost after line 4"
    assert [step.number for step in talk.steps] == [2, 3, 4]
