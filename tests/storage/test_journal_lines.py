"""A journal that people, programs or a failing disk have changed: it is read, or it is refused in one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kohort.storage.disk.files import Disk
from kohort.storage.disk.journal import JOURNAL, Journal, JournalError
from kohort.storage.disk.ownership import DataDirectoryError
from tests.crash.life import Life, process_is_gone
from tests.support.effort import EFFORT
from tests.support.folders import contents

ID, OTHER = "AAAAAAAAAAAAAAAAAAAABw", "AAAAAAAAAAAAAAAAAAAACA"
TOPIC = {"topic": "t", "id": ID, "configs": {"segment.ms": "1000"}, "partitions": [[[1], 3], [[1], 0]]}
LINES: list[dict[str, Any]] = [
    TOPIC,
    {"topic": "u", "id": OTHER, "configs": {}, "partitions": [[[1], 0]]},
    {"moved": ID, "partition": 1, "replicas": [1], "epoch": 4},
    {"deleted": OTHER},
    {"gone": [OTHER]},
    {"group": "g", "configs": {"consumer.session.timeout.ms": "50000"}},
    {"acls": [["TOPIC", "LITERAL", "t", "User:alice", "*", "READ", "ALLOW"]]},
    {"acls_gone": [["TOPIC", "LITERAL", "t", "User:alice", "*", "READ", "ALLOW"]]},
    {"next_producer_id": 1000},
]


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A data directory of kohort's."""
    life = Life(tmp_path / "data", Disk())
    life.directory.close()
    return tmp_path / "data"


def encoded(lines: list[Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({**TOPIC, "partitions": [[[1], float("inf")]]}, "'leader epoch' is not an integer"),
        ({**TOPIC, "partitions": [[[1], -1]]}, "'leader epoch' is not an integer"),
        ({**TOPIC, "partitions": [[[1], 2**31 - 1]]}, "'leader epoch' is not an integer"),
        ({**TOPIC, "partitions": [[["1"], 0]]}, "'replicas' is not an integer"),
        ({**TOPIC, "partitions": [[[1, 1], 0]]}, "'replicas' is not a list of distinct nodes"),
        ({**TOPIC, "partitions": [[[], 0]]}, "'replicas' is not a list of distinct nodes"),
        ({**TOPIC, "partitions": [[1]]}, "a partition is not a list of replicas and a leader epoch"),
        ({**TOPIC, "partitions": []}, "has no partitions"),
        ({**TOPIC, "partitions": 7}, "'partitions' is not a list"),
        ({**TOPIC, "id": 7}, "'id' is not a string"),
        ({**TOPIC, "id": "AAAA"}, "'AAAA' is not a topic id"),
        ({**TOPIC, "configs": ["segment.ms"]}, "'configs' is not an object"),
        ({**TOPIC, "configs": {"segment.ms": 1000}}, "'segment.ms' is not a string"),
        ({**TOPIC, "topic": "../t"}, "Topic name is invalid"),
        ({**TOPIC, "topic": "\ud800"}, "'topic' is not a string"),
        ({"moved": ID, "partition": 2, "replicas": [1], "epoch": 4}, "'partition' is not an integer from 0 to 1"),
        ({"moved": ID, "partition": -1, "replicas": [1], "epoch": 4}, "'partition' is not an integer from 0 to 1"),
        ({"moved": OTHER, "partition": 0, "replicas": [1], "epoch": 4}, "unknown topic id"),
        ({"deleted": OTHER}, "unknown topic id"),
        ({"next_producer_id": float("nan")}, "'next_producer_id' is not an integer"),
        ({"acls": [["TOPIC"]]}, "'acls' is not a list of ACLs with seven fields each"),
        ({"acls": [["TOPIC", 3, "t", "User:a", "*", "READ", "ALLOW"]]}, "'acls' is not a string"),
        ({"acls_gone": {}}, "'acls_gone' is not a list"),
        ({"next_producer_id": True}, "'next_producer_id' is not an integer"),
        ({}, "'next_producer_id' is not an integer"),
        ([], "it is not an object"),
        ("topic", "it is not an object"),
    ],
)
def test_reports_invalid_field(line: Any, words: str, tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(encoded([TOPIC, line]))
    with pytest.raises(JournalError, match=r"line 2, cannot be read: .*mend or remove that line") as refused:
        Journal(Disk(), tmp_path).read()
    assert words in str(refused.value)


@pytest.mark.parametrize(
    "line", [b"{" * 200_000, b'{"next_producer_id":' + b"1" * 10_000 + b"}", b"\xff", b"null", b""]
)
def test_reports_malformed_json(line: bytes, tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(line + b"\n")
    with pytest.raises(JournalError, match="line 1, cannot be read"):
        Journal(Disk(), tmp_path).read()


def test_rejects_duplicate_topic_names(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(encoded([TOPIC, {**TOPIC, "id": OTHER}]))
    with pytest.raises(JournalError, match="names two topics t"):
        Journal(Disk(), tmp_path).read()


def test_rejects_invalid_and_ignores_unknown_configs(ours: Path) -> None:
    (ours / JOURNAL).write_bytes(encoded([{**TOPIC, "configs": {"segment.ms": "soon"}}, {"next_producer_id": 0}]))
    old_contents = contents(ours)
    with pytest.raises(DataDirectoryError, match=r"topic t: .*soon.*; correct that line"):
        Life(ours, Disk()).directory.close()
    process_is_gone(ours)
    assert contents(ours) == old_contents
    (ours / JOURNAL).write_bytes(encoded([{**TOPIC, "configs": {"of.tomorrow": "1"}}, {"next_producer_id": 0}]))
    life = Life(ours, Disk())
    assert life.cluster.topics.by_name("t") is not None


def test_obsolete_group_configs_are_ignored(ours: Path) -> None:
    configs = {"consumer.session.timeout.ms": "1"}
    (ours / JOURNAL).write_bytes(encoded([{"group": "g", "configs": configs}, {"next_producer_id": 0}]))
    life = Life(ours, Disk())
    assert not list(life.cluster.group_configs)
    assert "ignoring invalid settings of group g: " in life.log.getvalue()


ODD: tuple[Any, ...] = (
    1e400,
    float("nan"),
    -1,
    2**31,
    10**30,
    "",
    "x" * 300,
    "\x00",
    None,
    True,
    1.5,
    [],
    {},
    [[]],
    {"topic": 1},
    ID,
)


def _spoilt(value: Any, random: Random) -> Any:
    """Yield copies with one value changed, removed or duplicated."""
    if isinstance(value, (list, dict)) and value and random.random() < 0.8:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key, copy = random.choice(keys), value.copy()
        if random.random() < 0.15:
            del copy[key]
        elif isinstance(copy, list) and random.random() < 0.15:
            copy.append(copy[key])
        else:
            copy[key] = _spoilt(value[key], random)
        return copy
    return random.choice(ODD)


def _spoilt_bytes(data: bytes, random: Random) -> bytes:
    at = random.randrange(len(data))
    more = bytes(random.randrange(256) for _ in range(random.randrange(4)))
    return data[:at] + more + data[at + random.randrange(4) :]


def _starts(path: Path) -> str | None:
    """Start and stop a broker there, and return the error that prevented it."""
    try:
        life = Life(path, Disk())
    except DataDirectoryError as refused:
        return str(refused)
    finally:
        process_is_gone(path)
    assert "[error" not in life.log.getvalue()
    life.hears("metadata", 9, topics=None)
    life.directory.close()
    return None


@pytest.mark.parametrize("seed", range(EFFORT.walks // 4))
def test_damaged_journal_never_raises_traceback(seed: int, ours: Path) -> None:
    random = Random(seed)
    started = 0
    for _ in range(60):
        lines = _spoilt(LINES, random) if random.random() < 0.6 else LINES
        data = encoded(lines) if isinstance(lines, list) and lines else b"\n"
        if random.random() < 0.5:
            data = _spoilt_bytes(data, random)
        (ours / JOURNAL).write_bytes(data)
        old_contents = contents(ours)
        error = _starts(ours)
        if error is None:
            started += 1
        else:
            assert str(ours) in error
            assert "\n" not in error
            assert contents(ours) == old_contents
    assert started
