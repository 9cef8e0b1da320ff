"""Checks that reject a topology independently of the group (streams-groups §3)."""

from collections.abc import Callable, Generator, Iterable

from kohort.coordinator.effects import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_TOPIC
from kohort.coordinator.streams.streams_values import Subtopology, Topology
from kohort.coordinator.streams.topology.configured_topology import InvalidTopology

INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC, SHARE_STATE_TOPIC})


def check_topology(topology: Topology, name_refusal: Callable[[str], str | None]) -> Generator[None, None, list[str]]:
    """Return the distinct names of all topics. Yield after each subtopology and each name.

    Source: `KafkaApis.handleStreamsGroupHeartbeat`.

    Args:
        name_refusal: Returns why a topic name is invalid, or None.

    Raises:
        InvalidTopology: The topology uses Kafka's internal topics, or invalid topic names.
    """
    names: dict[str, None] = {}
    for subtopology in topology.subtopologies:
        names |= dict.fromkeys(_named_by(subtopology))
        yield
    internal = [name for name in names if name in INTERNAL_TOPICS]
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
