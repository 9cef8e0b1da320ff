"""Some of the calls to the disk fail, one in each life; `make crash` lets each of them fail."""

from __future__ import annotations

import pytest

from tests.crash.calls import calls_of, faults, play
from tests.crash.killing import FSYNC
from tests.support.seeds import new_seeds

LIVES = 12
"""Of each way to sync."""


@pytest.mark.long
@pytest.mark.parametrize("fsync", FSYNC)
def test_failing_call_loses_nothing_acknowledged(fsync: str) -> None:
    calls = calls_of(fsync)
    wanted = {"open", "write", "truncate", "sync", "rename", "remove", "folder", "open of a folder", "sync of a folder"}
    assert wanted <= calls.keys()
    every = faults(fsync, calls.total())
    step = len(every) // LIVES
    first = next(iter(new_seeds()), 0) // 10 % step  # others with each run that has new seeds
    problems = [problem for fault in every[first::step] if (problem := play(fault)) is not None]
    assert not problems, "\n".join(problems)
