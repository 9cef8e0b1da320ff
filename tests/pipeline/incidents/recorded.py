"""The recordings, read into groups."""

from __future__ import annotations

import copy
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from kohort.pipeline.history.group_analysis import GroupAnalysis, analyse
from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from kohort.pipeline.silver.parquet_files import Writer, publish
from kohort.pipeline.silver.read_sources import ingest
from kohort.pipeline.sources.found import find_sources
from tests.pipeline.local_groups import load_groups

Sources = Callable[[GroupInput], GroupInput]
"""What is left of a group when some of its sources are read."""
RECORDINGS = Path(__file__).parent / "recordings"
RECORDED = sorted(path.name.removesuffix(".tar.gz") for path in RECORDINGS.iterdir())


def unpacked(name: str, folder: Path) -> Path:
    """Unpack a recording, given by file name, to a folder."""
    with tarfile.open(RECORDINGS / f"{name}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    return folder


def recorded(folder: Path) -> dict[str, GroupInput]:
    """Read the groups of a recording from all its sources."""
    sources, issues = find_sources([str(folder)])
    assert not issues
    silver = folder / "silver"
    with Writer(silver, "0") as writer:
        ingest(sources, "", writer)
    publish(silver, "0", [writer.task])
    return load_groups(silver)


@dataclass
class Recorded:
    """An unpacked recording, whose groups may be sorted but not changed otherwise."""

    folder: Path

    @cached_property
    def groups(self) -> dict[str, GroupInput]:
        return recorded(self.folder)


class Told(NamedTuple):
    """What is said of a group."""

    group: GroupInput
    analysis: GroupAnalysis
    found: list[Finding]


def told_of(group: GroupInput) -> Told:
    analysis = analyse(copy.copy(group))
    return Told(group, analysis, diagnose(analysis))


def log_alone(group: GroupInput) -> GroupInput:
    """Return the group without broker log, event log and samples of log ends."""
    alone = copy.copy(group)
    alone.events, alone.ends = [], {}
    return alone


def text_alone(group: GroupInput) -> GroupInput:
    """Return the group without the offsets topic."""
    return GroupInput(
        group.group_id, events=group.events, until_ms=group.until_ms, coordinator_moves=group.coordinator_moves
    )


def without_ends(group: GroupInput) -> GroupInput:
    less = copy.copy(group)
    less.ends = {}
    return less


def without_events(group: GroupInput) -> GroupInput:
    less = copy.copy(group)
    less.events = []
    return less
