"""What only records of streams groups say: topologies, and what an epoch was decided by. Kept as JSON in one column."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from kohort.pipeline.records.layouts import STREAMS_CURRENT_MEMBER, STREAMS_TARGET_MEMBER
from kohort.pipeline.records.record_codec import Value

_ROLES = ("active", "standby", "warmup")
TASKS = {
    STREAMS_TARGET_MEMBER: [(f"{role}Tasks", f"target_{role}") for role in _ROLES],
    STREAMS_CURRENT_MEMBER: [(f"{role}Tasks", role) for role in _ROLES]
    + [(f"{role}TasksPendingRevocation", f"pending_{role}") for role in _ROLES],
}
"""Fields that hold tasks, and the roles under which rows have them, by type of record."""


@dataclass(frozen=True, slots=True)
class Subtopology:
    """Topics by name. reads: its sources; rereads: repartition topics; stores: changelogs, where it has state."""

    reads: tuple[str, ...] = ()
    rereads: tuple[str, ...] = ()
    stores: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsTopology:
    """A topology as the first member brought it. subtopologies: by id."""

    epoch: int
    subtopologies: dict[str, Subtopology] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamsEpoch:
    """is_ready: all topics of the topology were there and fitted. standbys: copies of each task; None: not said."""

    is_ready: bool
    standbys: int | None = None


def topics_of(topology: Value) -> list[str]:
    """All topics that a topology's record names, by name."""
    found = {
        name for each in topology["subtopologies"] for name in (*each["sourceTopics"], *each["repartitionSinkTopics"])
    }
    for each in topology["subtopologies"]:
        found.update(topic["name"] for topic in (*each["repartitionSourceTopics"], *each["stateChangelogTopics"]))
    return sorted(found)


def topology_says(topology: Value) -> str:
    """A topology's record as `read_topology` takes it."""
    subtopologies = {
        each["subtopologyId"]: {
            "reads": each["sourceTopics"],
            "rereads": [topic["name"] for topic in each["repartitionSourceTopics"]],
            "stores": [topic["name"] for topic in each["stateChangelogTopics"]],
        }
        for each in topology["subtopologies"]
    }
    return json.dumps({"epoch": topology["epoch"], "subtopologies": subtopologies}, sort_keys=True)


def read_topology(text: str) -> StreamsTopology:
    """The topology that `topology_says` wrote."""
    said = json.loads(text)
    named = {
        name: Subtopology(*(tuple(each[kind]) for kind in ("reads", "rereads", "stores")))
        for name, each in said["subtopologies"].items()
    }
    return StreamsTopology(said["epoch"], named)


def epoch_says(epoch: Value) -> str:
    """An epoch's record as `read_epoch` takes it."""
    configs = {each["key"]: each["value"] for each in epoch["lastAssignmentConfigs"] or ()}
    said = {"validated": epoch["validatedTopologyEpoch"], "standbys": configs.get("num.standby.replicas")}
    return json.dumps(said)


def read_epoch(text: str) -> StreamsEpoch:
    """What `epoch_says` wrote."""
    said = json.loads(text)
    standbys = said["standbys"]
    return StreamsEpoch(said["validated"] >= 0, int(standbys) if standbys and standbys.isdigit() else None)
