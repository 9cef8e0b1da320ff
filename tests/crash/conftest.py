"""Fake threads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.crash import life


@pytest.fixture
def no_threads() -> Iterator[None]:
    """Everything happens in the thread of the test."""
    with life.no_threads():
        yield
