"""Fields that only records of streams groups have: topologies, and the basis of an epoch.

Stored as JSON in one column.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from kohort.protocol.records.layouts import STREAMS_CURRENT_MEMBER, STREAMS_TARGET_MEMBER
from kohort.protocol.records.record_reader import Value

_ROLES = ("active", "standby", "warmup")
TASKS = {
    STREAMS_TARGET_MEMBER: [(f"{role}Tasks", f"target_{role}") for role in _ROLES],
    STREAMS_CURRENT_MEMBER: [(f"{role}Tasks", role) for role in _ROLES]
    + [(f"{role}TasksPendingRevocation", f"pending_{role}") for role in _ROLES],
}  # Task fields and the roles that rows use for them, by record type.


@dataclass(frozen=True, slots=True)
class Subtopology:
    """Topics by use. reads: sources; rereads: repartition topics; stores: changelogs, if it is stateful."""

    reads: tuple[str, ...] = ()
    rereads: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsTopology:
    """A topology as its first member sent it, with subtopologies by id."""

    epoch: int
    subtopologies: dict[str, Subtopology] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamsEpoch:
    """An epoch. is_ready: all topics of the topology existed and matched. standbys: copies of each task, or None."""

    is_ready: bool
    standbys: int | None = None


def topics_of(topology: Value) -> list[str]:
    """Return all topics in a topology's record, ordered by name."""
    topics = {
        name
        for subtopology in topology["subtopologies"]
        for name in (*subtopology["sourceTopics"], *subtopology["repartitionSinkTopics"])
    }
    for subtopology in topology["subtopologies"]:
        topics.update(
            topic["name"] for topic in (*subtopology["repartitionSourceTopics"], *subtopology["stateChangelogTopics"])
        )
    return sorted(topics)


def topology_says(topology: Value) -> str:
    """Return a topology's record as JSON for `read_topology`."""
    subtopologies = {
        subtopology["subtopologyId"]: {
            "reads": subtopology["sourceTopics"],
            "rereads": [topic["name"] for topic in subtopology["repartitionSourceTopics"]],
            "stores": [topic["name"] for topic in subtopology["stateChangelogTopics"]],
        }
        for subtopology in topology["subtopologies"]
    }
    return json.dumps({"epoch": topology["epoch"], "subtopologies": subtopologies}, sort_keys=True)


def read_topology(text: str) -> StreamsTopology:
    fields = json.loads(text)
    named = {
        name: Subtopology(*(tuple(subtopology[kind]) for kind in ("reads", "rereads", "stores")))
        for name, subtopology in fields["subtopologies"].items()
    }
    return StreamsTopology(fields["epoch"], named)


def epoch_says(epoch: Value) -> str:
    """Return an epoch's record as JSON for `read_epoch`."""
    configs = {setting["key"]: setting["value"] for setting in epoch["lastAssignmentConfigs"] or ()}
    fields = {"validated": epoch["validatedTopologyEpoch"], "standbys": configs.get("num.standby.replicas")}
    return json.dumps(fields)


def read_epoch(text: str) -> StreamsEpoch:
    fields = json.loads(text)
    standbys = fields["standbys"]
    return StreamsEpoch(fields["validated"] >= 0, int(standbys) if standbys and standbys.isdigit() else None)
