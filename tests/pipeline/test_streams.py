"""Streams that are kept going while a cluster is followed, without Spark."""

from __future__ import annotations

import pytest

from kohort.pipeline.job import follow


class Query:
    """A stream that runs."""

    isActive = True  # noqa: N815 - Spark's name
    lastProgress = None  # noqa: N815


def test_a_stream_whose_worker_was_late_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "PAUSE_S", 0.0)
    said: list[str] = []
    outcomes = [RuntimeError("Error: Python worker failed to connect back.") for _ in range(2)]

    def start() -> Query:
        if outcomes:
            raise outcomes.pop()
        return Query()

    streams = follow._Streams({"silver": start}, said.append)  # type: ignore[dict-item]
    for _ in range(3):
        assert streams.tend() == []
    assert outcomes == []
    assert said == ["this machine is too busy to start Spark's Python; trying again every 0 s"]
    assert streams._running.keys() == {"silver"}


def test_what_else_fails_at_the_start_is_raised() -> None:
    def start() -> Query:
        raise ValueError("no such source")

    with pytest.raises(ValueError, match="no such source"):
        follow._Streams({"silver": start}, lambda _: None).tend()  # type: ignore[dict-item]
