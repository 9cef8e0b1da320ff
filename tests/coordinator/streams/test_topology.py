"""Topologies, compared with the class of Kafka 4.3.0; rejected topologies, and the duration of the check."""

import json
from pathlib import Path
from typing import Any

import pytest

from kohort.coordinator.at_once import at_once
from kohort.coordinator.streams.streams_values import CopartitionGroup, StatusCode, Subtopology, TopicInfo, Topology
from kohort.coordinator.streams.topology import (
    BrokenTopology,
    ConfiguredTopology,
    InvalidTopology,
    check_topology,
    configuring,
)
from kohort.storage.topic_names import name_refusal

CASES = [json.loads(line) for line in (Path(__file__).parent / "topologies.jsonl").read_text().splitlines()]
"""Recorded: existing topics, a topology, and the result of Kafka's `InternalTopicManager`. `tasks`: of a subtopology
its number of tasks, whether it has a store, and the partitions of its internal topics.
"""


NO_TOPICS: dict[str, int] = {}


# What Kafka found


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(CASES.index(case)))
def test_configured_topology_equals_kafka(case: dict[str, Any]) -> None:
    expected = {name: value for name, value in case.items() if name not in ("topics", "subtopologies")}
    found = _found(_topology(case["subtopologies"]), case["topics"])
    assert found == expected
    assert list(found.get("missing", ())) == list(expected.get("missing", ()))


def _found(topology: Topology, topics: dict[str, int]) -> dict[str, Any]:
    try:
        configured = at_once(configuring(topology, topics.get))
    except InvalidTopology as problem:
        return {"invalid": str(problem)}
    except BrokenTopology:
        return {"broken": True}
    status = {"status": [configured.status[0].code, configured.status[0].detail]} if configured.status else {}
    missing = {topic.name: topic.partitions for topic in configured.missing_internal}
    tasks = {subtopology.subtopology_id: _about(configured, subtopology) for subtopology in configured.subtopologies}
    return {"ready": configured.ready, **status, "missing": missing, "tasks": tasks}


def _about(configured: ConfiguredTopology, subtopology: Subtopology) -> list[Any]:
    topics = (*subtopology.repartition_source_topics, *subtopology.state_changelog_topics)
    subtopology_id = subtopology.subtopology_id
    partitions = {topic.name: topic.partitions for topic in topics}
    return [configured.tasks[subtopology_id], subtopology_id in configured.stateful, partitions]


def _topology(subtopologies: list[dict[str, Any]]) -> Topology:
    return Topology(1, tuple(map(_subtopology, subtopologies)))


def _subtopology(about: dict[str, Any]) -> Subtopology:
    return Subtopology(
        about["id"],
        source_topics=tuple(about["reads"]),
        state_changelog_topics=tuple(map(TopicInfo, about["stores"])),
        repartition_sink_topics=tuple(about["writes"]),
        repartition_source_topics=tuple(TopicInfo(name, count) for name, count in about["rereads"]),
        copartition_groups=tuple(
            CopartitionGroup(tuple(sources), (), tuple(repartitions)) for sources, repartitions in about["together"]
        ),
    )


# properties of missing topics


def test_missing_topic_keeps_its_settings() -> None:
    settings = (("cleanup.policy", "compact"),)
    store = TopicInfo("store", 0, 2, settings)
    topology = Topology(0, (Subtopology("0", ("in",), state_changelog_topics=(store,)),))
    assert at_once(configuring(topology, {"in": 4}.get)).missing_internal == (TopicInfo("store", 4, 2, settings),)


def test_empty_topology_is_ready() -> None:
    assert at_once(configuring(Topology(), NO_TOPICS.get)) == ConfiguredTopology()


def test_duplicate_setting_is_rejected() -> None:
    store = TopicInfo("store", topic_configs=(("retention.ms", "1"), ("retention.ms", "2")))
    with pytest.raises(BrokenTopology):
        at_once(configuring(Topology(0, (Subtopology("0", ("in",), state_changelog_topics=(store,)),)), {"in": 1}.get))


def test_only_three_topics_are_named() -> None:
    topology = Topology(0, (Subtopology("0", ("e", "d", "c", "b", "a")), Subtopology("1", ("a",))))
    (status,) = at_once(configuring(topology, NO_TOPICS.get)).status
    assert status.code == StatusCode.MISSING_SOURCE_TOPICS
    assert status.detail == "Source topics a, b, c and 2 additional topics are missing."


# What is refused before


def _refusal(*subtopologies: Subtopology) -> str:
    with pytest.raises(InvalidTopology) as raised:
        _checked(*subtopologies)
    return str(raised.value)


def _checked(*subtopologies: Subtopology) -> list[str]:
    return at_once(check_topology(Topology(0, subtopologies), name_refusal))


def test_topics_are_named_in_request_order() -> None:
    topology = Subtopology("0", ("in", "other"), (), (TopicInfo("store"),), ("rep",), (TopicInfo("own"),))
    assert _checked(topology, Subtopology("1", ("in",), (), (), (), (TopicInfo("rep"),))) == [
        *("in", "other"),
        *("rep", "own", "store"),
    ]


def test_internal_kafka_topics_are_rejected_first() -> None:
    wrong = Subtopology("0", ("a b", "__consumer_offsets"), repartition_sink_topics=("__transaction_state",))
    assert _refusal(wrong, Subtopology("1", ("in",), state_changelog_topics=(TopicInfo("__share_group_state"),))) == (
        "Use of Kafka internal topics __consumer_offsets,__transaction_state,__share_group_state "
        "in a Kafka Streams topology is prohibited."
    )


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "x" * 250, "ä", "\ud800", "a\nb"])
def test_invalid_topic_names_are_rejected(name: str) -> None:
    assert _refusal(Subtopology("0", ("in", name, "a/b"))) == f"Topic names {name},a/b are not valid topic names."


# How long it takes

MANY = 10_000


def _chain(count: int) -> Topology:
    """Return subtopologies of which each reads from the one with the next id; the last one reads a source topic."""
    last = Subtopology(str(count - 1), ("in",), (), (), (f"rep-{count - 1}",))
    others = (
        Subtopology(str(n), (), (), (TopicInfo(f"store-{n}"),), (f"rep-{n}",), (TopicInfo(f"rep-{n + 1}"),))
        for n in range(count - 1)
    )
    return Topology(0, (*others, last))


def test_long_subtopology_chain_yields() -> None:
    steps = configuring(_chain(MANY), {"in": 7}.get)
    efforts = []
    while True:
        try:
            efforts.append(next(steps))
        except StopIteration as end:
            configured = end.value
            break
    assert set(configured.tasks.values()) == {7}
    assert len(configured.missing_internal) == 2 * (MANY - 1)
    assert max(efforts) <= 200
    assert sum(efforts) <= 1000 * MANY


def test_large_subtopology_cycle_is_rejected() -> None:
    ring = tuple(
        Subtopology(str(n), (), (), (), (f"rep-{n}",), (TopicInfo(f"rep-{(n + 1) % MANY}"),)) for n in range(MANY)
    )
    with pytest.raises(InvalidTopology, match="There may be loops in the topology"):
        at_once(configuring(Topology(0, ring), NO_TOPICS.get))


def test_many_copartition_groups_are_fast() -> None:
    fixed = tuple(TopicInfo(f"rep-{n}", 3) for n in range(2_000))
    groups = tuple(CopartitionGroup((), (), (n % 2_000,)) for n in range(MANY))
    topology = Topology(0, (Subtopology("0", ("in",), (), (), (), fixed, groups),))
    asked = 0

    def partitions_of(name: str) -> int | None:
        nonlocal asked
        asked += 1
        return 3 if name == "in" else None

    assert at_once(configuring(topology, partitions_of)).tasks == {"0": 3}
    assert asked < 5 * MANY
