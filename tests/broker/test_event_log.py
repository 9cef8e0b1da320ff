"""The event log: what its files are called, when they are complete, what their lines say (offsets-topic §9.4)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from errno import ENOSPC
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kohort.broker.cluster import event_files
from kohort.broker.cluster import event_log as module
from kohort.broker.cluster.effect_execution import perform
from kohort.broker.cluster.event_files import EventFile, finish_left_over
from kohort.broker.cluster.event_log import EventLog
from kohort.broker.cluster.group_events import EventLogError
from kohort.broker.scheduling import worker_thread
from kohort.broker.scheduling.worker_thread import JOBS_HERE, Jobs, WorkerThread
from kohort.cli.commands import main
from kohort.coordinator.events.group_event import COLUMNS
from kohort.coordinator.groups.observer import UNOBSERVED
from kohort.pipeline.sources.event_lines import COLUMNS as READ
from kohort.pipeline.sources.event_lines import read_event_log
from kohort.pipeline.sources.source_rows import GroupEvent
from tests.support.broker import Broker
from tests.support.coordinator_world import EPOCH_MS

LINE = (
    '{"v":1,"event_id":"1-b007-1","seq":1,"boot_id":"b007","node_id":1,"ts":1700000000500,"mono_us":500000,'
    '"co_partition":0,"co_epoch":0,"kind":"coordinator_elected","duration_us":0}\n'
)


class Logged:
    """A broker whose events are written on demand."""

    def __init__(self, directory: Path, jobs: Jobs = JOBS_HERE) -> None:
        self.broker = Broker()
        self.cluster = self.broker.cluster
        self.directory = directory
        self.due: list[Callable[[], None]] = []
        self.log = EventLog(self.cluster, directory, lambda _, flush: self.due.append(flush), jobs)
        self.log.open()
        self.cluster.group_events._boot_id = "b007"

    def happens(self, partition: int = 0) -> None:
        self.cluster.coordinators[0].observer.elected(partition, (), None)
        perform(self.cluster, self.cluster.clock.now_ms())

    def written(self) -> None:
        for flush in self.due:
            flush()
        self.due.clear()

    def names(self) -> list[str]:
        return sorted(path.name for path in self.directory.iterdir())


@pytest.fixture
def logged(tmp_path: Path) -> Logged:
    return Logged(tmp_path / "events")


def test_line_format(logged: Logged) -> None:
    logged.broker.clock.advance(500)
    logged.happens()
    logged.written()
    (path,) = logged.directory.iterdir()
    assert path.name == "group-events-1-b007-1.jsonl.open"
    assert path.read_text() == LINE


def test_complete_file_is_renamed(logged: Logged) -> None:
    logged.happens()
    logged.log.close()
    assert logged.names() == ["group-events-1-b007-1.jsonl"]
    assert logged.cluster.coordinators[0].observer is UNOBSERVED


def test_nothing_happened(logged: Logged) -> None:
    logged.log.close()
    assert logged.names() == []


def test_after_ten_minutes_another_file_begins(logged: Logged) -> None:
    logged.happens()
    logged.written()
    logged.happens()
    logged.broker.clock.advance(600_000)
    logged.cluster.purgatory.advance(600_000)
    logged.written()
    assert logged.names() == ["group-events-1-b007-1.jsonl"]
    logged.happens()
    logged.written()
    assert logged.names() == ["group-events-1-b007-1.jsonl", "group-events-1-b007-2.jsonl.open"]
    logged.log.close()
    assert [event["seq"] for event in events(logged)] == [1, 2, 3]


def test_full_file_is_rotated(logged: Logged, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "ROLL_BYTES", len(LINE) + 1)
    for _ in range(5):
        logged.happens()
        logged.written()
    logged.log.close()
    assert logged.names() == [f"group-events-1-b007-{number}.jsonl" for number in (1, 2, 3)]
    assert [event["seq"] for event in events(logged)] == [1, 2, 3, 4, 5]


def test_completes_files_of_earlier_process(tmp_path: Path) -> None:
    (tmp_path / "group-events-1-dead-3.jsonl.open").write_text(LINE)
    (tmp_path / "notes.open").write_text("mine")
    other = EventFile(tmp_path / "group-events-1-live-1.jsonl.open")
    other.write(LINE.encode())
    finish_left_over(tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["group-events-1-dead-3.jsonl", "group-events-1-live-1.jsonl.open", "notes.open"]
    other.finish()


def test_full_disk_is_logged_once(logged: Logged, lines: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    logged.happens()
    logged.written()
    ((_, file),) = logged.log._files.open_files()

    class Full:
        def __init__(self, raw: Any) -> None:
            self.raw = raw

        def write(self, data: memoryview) -> int:
            if len(data) < 20:
                raise OSError(ENOSPC, "No space left on device")
            return self.raw.write(data[: len(data) // 2])  # type: ignore[no-any-return]

        def __getattr__(self, name: str) -> Any:
            return getattr(self.raw, name)

    raw = file._raw
    monkeypatch.setattr(file, "_raw", Full(raw))
    for _ in range(3):
        logged.happens()
        logged.written()
    monkeypatch.setattr(file, "_raw", raw)
    assert lines.getvalue().count("group events are lost") == 1
    logged.happens()
    logged.written()
    assert "again; 3 events were lost" in lines.getvalue()
    logged.log.close()
    assert [event["seq"] for event in events(logged)] == [1, 5]


class SlowDisk:
    """Executor that completes jobs on demand."""

    def __init__(self) -> None:
        self.jobs: list[Callable[[], None]] = []

    def run(self, job: Callable[[], None]) -> None:
        self.jobs.append(job)

    def hand_over(self, result: Callable[[], None]) -> None:
        result()

    def catch_up(self) -> None:
        while self.jobs:
            self.jobs.pop(0)()

    def close(self) -> bool:
        self.catch_up()
        return True


def test_slow_disk_drops_events(logged: Logged, lines: StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk()
    monkeypatch.setattr(logged.log, "_jobs", disk)
    monkeypatch.setattr(module, "EVENTS_WAITING", 2)
    for _ in range(5):
        logged.happens()
        logged.written()
    assert len(disk.jobs) == 2
    assert lines.getvalue().count("group events are lost") == 1
    assert "the disk is too slow" in lines.getvalue()
    disk.catch_up()
    assert "again; 3 events were lost" in lines.getvalue()
    logged.happens()
    logged.log.close()
    assert [event["seq"] for event in events(logged)] == [1, 2, 6]


async def test_hanging_disk_does_not_block_exit(
    tmp_path: Path, lines: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_thread, "LAST_JOBS_S", 0.0)
    thread = WorkerThread(asyncio.get_running_loop(), "event-log")
    logged = Logged(tmp_path / "events", thread)
    answers = threading.Event()

    def wait() -> None:
        answers.wait()

    thread.run(wait)
    logged.happens()
    logged.log.close()
    assert "the last group events are lost" in lines.getvalue()
    answers.set()


async def test_thread_writes_events(tmp_path: Path) -> None:
    logged = Logged(tmp_path / "events", WorkerThread(asyncio.get_running_loop(), "event-log"))
    for _ in range(3):
        logged.happens()
        logged.written()
    logged.log.close()
    assert logged.names() == ["group-events-1-b007-1.jsonl"]
    assert [event["seq"] for event in events(logged)] == [1, 2, 3]


def test_rejects_unusable_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(
        EventLogError, match=r"cannot write group events to .*file: .*; --event-log requires a writable directory"
    ):
        Logged(tmp_path / "file")


def test_serve_refuses_such_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = CliRunner().invoke(main, ["serve", "--listen", "127.0.0.1:0", "--event-log", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert result.output.startswith("kohort: cannot write group events to ")


def test_columns_match_analysis() -> None:
    assert set(COLUMNS) <= set(READ)


def test_clean_shutdown_is_recorded(logged: Logged) -> None:
    logged.broker.cluster.offsets_topic.create(0)
    logged.cluster.group_events.stopping()
    perform(logged.cluster, 0)
    logged.log.close()
    last = list(events(logged))[-1]
    assert (last["kind"], last["ts"]) == ("coordinator_resigned", EPOCH_MS)


def events(logged: Logged) -> Iterator[dict[str, Any]]:
    """Return all events, as the analysis reads them and as written."""
    for name in logged.names():
        path = logged.directory / name
        stand = [json.loads(line) for line in path.read_text().splitlines()]
        for read, row in zip(read_event_log(path), stand, strict=True):
            assert isinstance(read, GroupEvent), read
            assert {k: v for k, v in asdict(read).items() if v is not None and k != "origin"} == row
            yield row
