"""A follower that is killed at random ends with the rows of one reading; `killed_follower.py` does it for longer."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.pipeline.killed_follower import play

SEED = int(os.environ.get("KOHORT_SEED", random.SystemRandom().randrange(1 << 32)))


@pytest.mark.deep
@pytest.mark.spark
@pytest.mark.cluster
@pytest.mark.timeout(2400)
def test_killed_follower_keeps_tables_complete(tmp_path: Path) -> None:
    print(f"KOHORT_SEED={SEED}")
    run = play(90, SEED, tmp_path)
    assert run.wrong == []
    assert run.follower.kills.total() > 0
