"""Topology of a streams group (KIP-1071)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LabSubtopology:
    """A part of a topology that is connected with the other parts by repartition topics only."""

    id: str
    source_topics: tuple[str, ...]
    repartition_source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    state_changelog_topics: tuple[str, ...]
    tasks: int | None  # number of tasks; None while topics are missing, do not match, or have not been checked yet


@dataclass(frozen=True)
class LabTopology:
    """The processing topology of an application, as the group's first member described it."""

    epoch: int
    is_ready: bool  # whether all its topics exist and match
    subtopologies: tuple[LabSubtopology, ...]  # in the order of their ids

    @property
    def tasks(self) -> int:
        return sum(part.tasks or 0 for part in self.subtopologies)
