"""Files that grow and are rotated: every line once, whatever logrotate, log4j or an operator does to them."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
from pathlib import Path

import pytest

from kohort.pipeline.job.following_files import FollowedFiles
from kohort.pipeline.silver.parquet_files import visible_files
from kohort.pipeline.sources.found import find_sources
from kohort.pipeline.sources.source_rows import GroupEvent
from kohort.pipeline.sources.tailing import READ_AT_ONCE, TailedFiles
from kohort.pipeline.sources.text_log import read_text_log
from tests.pipeline.incidents.recorded import unpacked
from tests.pipeline.local_groups import silver_table


class Log:
    """A file that a broker writes, and its follower, with a clock that only advances."""

    def __init__(self, folder: Path, name: str = "server.log") -> None:
        self.path, self._written, self._at = folder / name, 0, 1_700_000_000
        self.files = TailedFiles([self.path])

    def writes(self, count: int) -> list[str]:
        lines = [
            f"[2026-05-31 14:{number // 60:02}:{number % 60:02},000] INFO line {number}"
            for number in range(self._written, self._written + count)
        ]
        self._written += count
        with self.path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        self.touched(self.path)
        return lines

    def touched(self, path: Path) -> None:
        self._at += 1
        os.utime(path, (self._at, self._at))

    def news(self) -> list[str]:
        return [line for portion in self.files.look() for line in portion.lines]

    def restarts(self) -> None:
        """Restart the follower with its stored state."""
        self.files = TailedFiles([self.path], json.loads(json.dumps(self.files.state)))

    def renamed(self, number: int) -> Path:
        return self.path.rename(self.path.with_name(f"server.log.{number}"))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def packed(path: Path) -> Path:
    """Compress like gzip, which removes the file when the compressed one is complete."""
    place = path.with_name(f"{path.name}.gz")
    place.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return place


def test_added_lines_are_read_once(log: Log) -> None:
    first = log.writes(40)
    assert log.news() == first
    assert log.news() == []
    second = log.writes(3)
    assert log.news() == second


def test_partial_line_is_held_back(log: Log) -> None:
    log.writes(2)
    log.news()
    with log.path.open("a") as file:
        file.write("[2026-05-31 15:00:00,000] IN")
    assert log.news() == []
    with log.path.open("a") as file:
        file.write("FO whole\n")
    assert log.news() == ["[2026-05-31 15:00:00,000] INFO whole"]


@pytest.mark.parametrize("restart", [False, True])
def test_renamed_file_is_read_completely(log: Log, restart: bool) -> None:
    log.writes(40)
    log.news()
    late = log.writes(5)
    log.renamed(1)
    new = log.writes(7)
    if restart:
        log.restarts()
    assert log.news() == late + new


@pytest.mark.parametrize("restart", [False, True])
def test_compressed_file_continues_at_position(log: Log, restart: bool) -> None:
    log.writes(40)
    log.news()
    late = log.writes(5)
    log.touched(packed(log.renamed(1)))
    new = log.writes(7)
    if restart:
        log.restarts()
    assert log.news() == late + new


def test_unfinished_compressed_file_is_awaited(log: Log) -> None:
    log.writes(40)
    log.news()
    late = log.writes(5)
    whole = gzip.compress(log.renamed(1).read_bytes())
    log.path.with_name("server.log.1").unlink()
    place = log.path.with_name("server.log.1.gz")
    place.write_bytes(whole[: len(whole) // 2])
    old_news = log.news()
    place.write_bytes(whole)
    log.touched(place)
    assert old_news + log.news() == late


def test_truncated_copy_is_read_completely(log: Log) -> None:
    # as with copytruncate of logrotate
    log.writes(40)
    log.news()
    late = log.writes(5)
    shutil.copy(log.path, log.path.with_name("server.log.1"))
    os.truncate(log.path, 0)
    log.touched(log.path.with_name("server.log.1"))
    assert log.news() == late
    new = log.writes(7)
    assert log.news() == new


def test_two_unseen_rotations_lose_nothing(log: Log) -> None:
    log.writes(40)
    log.news()
    late = log.writes(5)
    log.renamed(2)
    middle = log.writes(30)
    log.touched(packed(log.renamed(1)))
    new = log.writes(7)
    log.restarts()
    assert log.news() == late + middle + new


def test_old_rotations_need_a_folder(log: Log) -> None:
    old = log.writes(30)
    log.renamed(1)
    new = log.writes(5)
    assert log.news() == new
    everything = TailedFiles([log.path.parent])
    assert [line for portion in everything.look() for line in portion.lines] == old + new


def test_unreadable_file_is_retried(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = log.writes(3)

    def refused(*_: object) -> bool:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("kohort.pipeline.sources.tailing.is_packed", refused)
        assert log.news() == []
    assert log.files.problems == {log.path: "Permission denied"}
    assert log.news() == lines
    assert log.files.problems == {}


def test_unfinished_line_does_not_block_file(log: Log) -> None:
    log.path.write_bytes(b"x" * (READ_AT_ONCE + 5) + b"\n")
    assert log.news() != []
    new = log.writes(1)
    assert log.news()[-1:] == new


def test_followed_log_equals_one_reading(tmp_path: Path) -> None:
    whole = unpacked("classic-kafka-4.3", tmp_path / "recording") / "broker.log"
    chance, text = random.Random(7), whole.read_bytes()
    folder, silver = tmp_path / "logs", tmp_path / "silver"
    folder.mkdir()
    path, state, at, clock = folder / "server.log", tmp_path / "state.json", 0, 1_700_000_000
    files = FollowedFiles([path], silver, state)
    rotated = 0
    while at < len(text):
        size = chance.randrange(1, 9_000)
        with path.open("ab") as file:
            file.write(text[at : at + size])
        at, clock = at + size, clock + 1
        os.utime(path, (clock, clock))
        if chance.random() < 0.5:
            files.look()
        if chance.random() < 0.2:
            files = FollowedFiles([path], silver, state)
        if chance.random() < 0.1 and text[at - 1 : at] == b"\n":
            rotated += 1
            place = path.rename(folder / f"server.log.{rotated}")
            if chance.random() < 0.5:
                place = packed(place)
                os.utime(place, (clock, clock))
    files.look()
    table = silver_table(silver, "events")
    assert table is not None
    found = sorted((row["ts"], row["kind"], row["group_id"] or "", row["member_id"] or "") for row in table.to_pylist())
    expected = sorted(
        (event.ts, event.kind, event.group_id or "", event.member_id or "")
        for event in read_text_log(whole)
        if isinstance(event, GroupEvent)
    )
    assert found == expected
    ids = table["event_id"].to_pylist()
    assert len(set(ids)) == len(ids)


def test_batch_without_state_is_read_again(tmp_path: Path) -> None:
    # the process died between the two writes
    recording = unpacked("kohort", tmp_path / "recording") / "events"
    assert find_sources([str(recording)])[0]
    silver, state = tmp_path / "silver", tmp_path / "state.json"
    count = FollowedFiles([recording], silver, state).look()
    assert count > 100
    state.unlink()
    new_files = FollowedFiles([recording], silver, state)
    assert visible_files(silver, "events") == []
    assert new_files.look() == count
    table = silver_table(silver, "events")
    assert table is not None
    assert len(table) == count
