"""Threads that are none."""

from __future__ import annotations

import pytest

from kohort.broker.cluster import syncing
from kohort.storage.disk import partition as partitions
from tests.crash.life import AtOnce


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything happens in the thread of the test."""
    monkeypatch.setattr(partitions, "ThreadPoolExecutor", AtOnce)
    monkeypatch.setattr(syncing, "ThreadPoolExecutor", AtOnce)
