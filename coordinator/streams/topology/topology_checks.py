"""Topologies that are refused before any group is looked at (streams-groups §3)."""

from collections.abc import Callable, Generator, Iterable

from kohort.coordinator.effects import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC
from kohort.coordinator.streams.streams_values import Subtopology, Topology
from kohort.coordinator.streams.topology.configured_topology import InvalidTopology

KAFKAS_OWN = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC, SHARE_STATE_TOPIC})


def check_topology(topology: Topology, name_refusal: Callable[[str], str | None]) -> Generator[None, None, list[str]]:
    """Returns all topics that are named, each once. Yields after each subtopology, and after each name.

    Raises InvalidTopology for topics of Kafka's own, then for names that can be no topic's. `name_refusal`: why a name
    cannot. Source: `KafkaApis.handleStreamsGroupHeartbeat`.
    """
    names: dict[str, None] = {}
    for subtopology in topology.subtopologies:
        names |= dict.fromkeys(_named_by(subtopology))
        yield
    internal = [name for name in names if name in KAFKAS_OWN]
    if internal:
        raise InvalidTopology(
            f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
        )
    illegal = []
    for name in names:
        if name_refusal(name) is not None:
            illegal.append(name)
        yield
    if illegal:
        raise InvalidTopology(f"Topic names {','.join(illegal)} are not valid topic names.")
    return list(names)


def _named_by(subtopology: Subtopology) -> Iterable[str]:
    yield from subtopology.source_topics
    yield from subtopology.repartition_sink_topics
    yield from (topic.name for topic in subtopology.repartition_source_topics)
    yield from (topic.name for topic in subtopology.state_changelog_topics)
