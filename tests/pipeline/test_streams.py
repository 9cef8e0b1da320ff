"""Streams that are kept going while a cluster is followed, without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kohort.pipeline.job import stream_follower


class Query:
    """A stream that runs."""

    isActive = True  # noqa: N815 - Spark's name
    lastProgress = None  # noqa: N815


def test_late_worker_restarts_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_follower, "PAUSE_S", 0.0)
    said: list[str] = []
    outcomes = [RuntimeError("Error: Python worker failed to connect back.") for _ in range(2)]

    def start() -> Query:
        if outcomes:
            raise outcomes.pop()
        return Query()

    streams = stream_follower._Streams({"silver": start}, said.append)  # type: ignore[dict-item]
    for _ in range(3):
        assert streams.tend() == []
    assert outcomes == []
    assert said == ["this machine is too busy to start Spark's Python; trying again every 0 s"]
    assert streams._running.keys() == {"silver"}


def test_unexpected_start_errors_are_raised() -> None:
    def start() -> Query:
        raise ValueError("no such source")

    with pytest.raises(ValueError, match="no such source"):
        stream_follower._Streams({"silver": start}, lambda _: None).tend()  # type: ignore[dict-item]


class Busy(Query):
    """A stream that has read batch 6, and is about to write batch 7."""

    def __init__(self, looks: int) -> None:
        """Set the number of checks until it is done."""
        self.looks, self.stopped = looks, False
        self.lastProgress: Any = SimpleNamespace(batchId=6, numInputRows=1)

    @property
    def status(self) -> dict[str, bool]:
        self.looks -= 1
        if not self.looks:
            self.lastProgress = SimpleNamespace(batchId=7, numInputRows=1)
        return {"isTriggerActive": self.looks > 0, "isDataAvailable": True}

    def stop(self) -> None:
        self.stopped = True


@pytest.mark.parametrize(("looks", "finish_s", "last"), [(3, 30.0, 7), (1_000_000, 0.0, 6)])
def test_stop_waits_briefly_for_batch(monkeypatch: pytest.MonkeyPatch, looks: int, finish_s: float, last: int) -> None:
    # the last report once covered less than the tables, on a machine with slow batches
    monkeypatch.setattr(stream_follower, "FINISH_S", finish_s)
    monkeypatch.setattr(stream_follower, "WAIT_S", 0.0)
    query = Busy(looks)
    streams = stream_follower._Streams({"silver": lambda: query}, lambda _: None)  # type: ignore[dict-item, return-value]
    streams.tend()
    streams.stop()
    assert query.stopped
    assert streams.last_batch("silver") == last
