"""`kohort admin` for the cluster of a test."""

from __future__ import annotations

import subprocess
import sys

from kohort.coordinator.groups.group_placement import partition_for
from tests.clients.company import Company


class Admin:
    """`kohort admin`, for one cluster."""

    def __init__(self, control: str) -> None:
        self._control = control

    def __call__(self, *words: str) -> str:
        command = [sys.executable, "-m", "kohort.cli", "admin", *words, "--control", self._control]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


def partition_of(company: Company) -> str:
    """Return the partition of `__consumer_offsets` that contains the group."""
    return str(partition_for(company.group, 50))
