"""The player reports every difference."""

from pathlib import Path

import pytest

from kohort.proxy.talk.answer_comparing import differences
from tests.talk.compare import Names, WrittenExpectations
from tests.talk.play import play
from tests.talk.script import ScriptError, read_conversation
from tests.talk.values import Value, from_bytes, read_values, show, to_bytes


def outcome(tmp_path: Path, *lines: str) -> list[str]:
    path = tmp_path / "example.talk"
    path.write_text("\n".join(["# Something is shown.", "#", "# source: nowhere", "", *lines]) + "\n")
    return play(read_conversation(path)).splitlines()


def test_difference_shows_earlier_lines(tmp_path: Path) -> None:
    told = outcome(
        tmp_path,
        "given ada shares a stable group",
        "wait 200 ms",
        "ada JoinGroup v9",
        "  <- NONE {generation_id: 3, leader: $ada}",
    )
    assert told[0].endswith("example.talk: Something is shown.")
    assert "PreparingRebalance -> CompletingRebalance" in "\n".join(told)
    assert told[-2] == "     200 ms    8    <- NONE {generation_id: 3, leader: $ada}"
    assert told[-1] == ">>> generation_id: expected 3, received 2"


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (["ada ApiVersions v0", "  <- INVALID_REQUEST"], "error_code: expected INVALID_REQUEST, received NONE"),
        (["ada Heartbeat v4 {member_id: x}", "  <- {}"], "error_code: expected NONE, received UNKNOWN_MEMBER_ID"),
        (["ada ApiVersions v0", "  <- {nonsense: 1}"], "nonsense: expected 1, received nothing"),
        (["ada ApiVersions v0", "  <- nothing for 10 ms"], "expected silence for 10 ms, received ApiVersions"),
        (["ada ApiVersions v0", "  <- closed"], "expected the connection to be closed, received "),
        (["ada ApiVersions v0"], "at the end ada has a response that the conversation does not expect"),
        (["ada ApiVersions v0", "  <- NONE", "  <- NONE"], "ada has no pending request"),
        (["ada sends 0x00000000", "  <- NONE"], "it closed the connection instead of responding"),
        (
            ["ada ApiVersions v0", "  <- between 10 and 20 ms NONE"],
            "expected the response between 10 and 20 ms, it took 0",
        ),
        (
            ["ada Heartbeat v4 {member_id: x}", "  <- eventually NONE"],
            "error_code: expected NONE, received UNKNOWN_MEMBER_ID",
        ),
        (["given ada shares a stable group", "bob joins", "  <- NONE"], "no response within 1500 ms"),
    ],
)
def test_nothing_passes_by_itself(tmp_path: Path, lines: list[str], complaint: str) -> None:
    assert outcome(tmp_path, *lines)[-1].startswith(f">>> {complaint}")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("ada whispers", "cannot follow 'ada whispers'"),
        ("ada Heartbeat v4 {generation_id: 1", "a brace is never closed"),
        ("ada Heartbeat v4 {generation_id 1}", "expected ':'"),
        ("<- NONE", "a response before the first request"),
        ("ada Heartbeat v4 {generation: 1}", "Heartbeat has no field generation; it has group_id, "),
        ("ada Heartbeat v4 {generation_id: one}", "Heartbeat.generation_id: expected a number, not 'one'"),
        ("ada PushTelemetry v0", "kohort does not serve PushTelemetry"),
    ],
)
def test_invalid_line_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    with pytest.raises(ScriptError) as problem:
        outcome(tmp_path, line)
    assert f"example.talk:5: {complaint}" in str(problem.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ("{a: 1, b: -2, c: 0x01, d: null, e: true}", {"a": 1, "b": -2, "c": "0x01", "d": None, "e": True}),
        ('{a: "x, y", b: two words., c: [], d: [[1], {}]}', {"a": "x, y", "b": "two words.", "c": [], "d": [[1], {}]}),
        ("{r: batch(a b pid:$p at:1000)}", {"r": "batch(a b pid:$p at:1000)"}),
    ],
)
def test_values_are_read_and_shown(text: str, value: Value) -> None:
    assert read_values(text) == value
    assert read_values(show(value)) == value


def test_bytes() -> None:
    assert to_bytes("0x00ff") == b"\x00\xff"
    assert to_bytes("é") == b"\xc3\xa9"
    assert to_bytes("subscription(a bc)") == bytes.fromhex("0000 00000002 000161 00026263 ffffffff")
    assert to_bytes("assignment(a:0+2)") == bytes.fromhex("0000 00000001 000161 00000002 00000000 00000002 ffffffff")
    assert from_bytes(b"plain") == "plain"
    assert from_bytes(b"\x00\xff") == "0x00ff"


@pytest.mark.parametrize(
    ("expected", "received", "same"),
    [
        ("_", 5, True),
        ("3..5", 5, True),
        ("3..5", 6, False),
        ("~a.c", "abc", True),
        ("~a.c", "abcd", False),
        ("~ada-UUID", "ada-00000000-0000-4000-8000-000000000000", True),
        ("1", 1, False),
        (True, 1, False),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ([1, 2], [2, 1], False),
        ([1, "..."], [2, 1], True),
        ([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}], True),
        ([{"a": "$x", "b": 1}, {"a": "$y", "b": "_"}], [{"a": 7, "b": 2}, {"a": 8, "b": 1}], True),
        ([{"a": "3..5"}, {"a": "1..4"}], [{"a": 4}, {"a": 5}], True),
        ([{"a": "3..5"}, {"a": "1..4"}], [{"a": 5}, {"a": 5}], False),
        ([{"a": "$x"}, {"a": "$x"}], [{"a": 7}, {"a": 8}], False),
        ([], [{}], False),
        ("$known", "known", True),
        ("$known", "other", False),
        ("subscription(t)", from_bytes(to_bytes("subscription(t)")), True),
    ],
)
def test_comparison(expected: Value, received: Value, same: bool) -> None:
    assert bool(differences("Any", expected, received, WrittenExpectations({"known": "known"}))) is not same


def test_names_bind_to_first_value() -> None:
    names: Names = {}
    assert not differences("Any", {"a": "$x"}, {"a": 7}, WrittenExpectations(names))
    assert names == {"x": 7}
    assert differences("Any", {"a": "$y", "b": "$x"}, {"a": 1, "b": 8}, WrittenExpectations(names)) == [
        "b: expected 7, received 8"
    ]
    assert names == {"x": 7}
    leave = {"members": [{"m": 1}, {"m": 2}]}
    assert differences("LeaveGroup", leave, {"members": [{"m": 2}, {"m": 1}]}, WrittenExpectations(names))
