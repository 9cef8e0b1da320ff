"""Some times `kill -9` under load; `make crash` does so more often."""

from __future__ import annotations

import os
from pathlib import Path
from random import SystemRandom

import pytest
from click.testing import CliRunner

from kohort.cli.admin import admin
from tests.crash.killing import Killing
from tests.support.effort import EFFORT

SEED = int(os.environ.get("KOHORT_SEED", SystemRandom().randrange(1 << 20)))


@pytest.mark.clients
@pytest.mark.timeout(400)
async def test_kill_loses_nothing_acknowledged(tmp_path: Path) -> None:
    killing = Killing(tmp_path, SEED)
    try:
        for number in range(EFFORT.kills):
            await killing.round(number)
        await killing.ends()
    except Exception:
        print(f"KOHORT_SEED={SEED}, round {number}")
        raise
    done = ("records", "commits", "sync_group", "heartbeat", "epochs", "deliveries", "outcomes")
    assert min(killing.told[what] for what in done) > 0
    verified = CliRunner().invoke(admin, ["verify", str(killing.path)])
    assert verified.exit_code == 0, verified.output
    assert "0 damaged" in verified.output
