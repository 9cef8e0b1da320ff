"""Prerequisites of a conversation: topics, groups, and offsets committed before it began."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kohort.proxy.talk.leaving_out import first
from kohort.proxy.talk.payloads import topics_in
from kohort.proxy.talk.talk_file import Talk
from kohort.proxy.talk.talk_lines import Step
from kohort.proxy.talk.talk_values import Value

GROUP, TRANSACTION = 0, 1  # types of coordinators


@dataclass
class Needs:
    """Prerequisites."""

    topics: dict[str, int] = field(default_factory=dict)  # used topics, with their recorded numbers of partitions
    topic_ids: dict[str, str] = field(default_factory=dict)  # topics by the name of their id
    groups: set[str] = field(default_factory=set)
    transactions: set[str] = field(default_factory=set)
    # by group, topic and partition: offsets fetched before a commit
    offsets: dict[tuple[str, str, int], int] = field(default_factory=dict)
    first_uses: dict[tuple[str, int], Step] = field(default_factory=dict)  # first request of each API and version
    # by speaker: type and key of the coordinator it connects to
    coordinators: dict[str, tuple[int, str]] = field(default_factory=dict)


def needs_of(talk: Talk) -> Needs:
    """Collect the resources that the steps of a conversation use."""
    needs = Needs()
    spoken: set[str] = set()
    patterns: set[str] = set()
    recorded: dict[str, int] = {}
    committed: set[tuple[str, str, int]] = set()
    for step in talk.steps:
        if step.request is not None and step.request.api == "metadata":
            _add_topics(needs, recorded, step)
        elif step.request is not None and step.request.api == "offset_fetch":
            _add_fetched(needs, committed, step)
        if step.kafka_name:
            needs.first_uses.setdefault((step.api, step.version), step)
            _add_coordinator(needs, step)
            spoken.update(_topics_in(step.values))
            patterns.update(_patterns_in(step.values))
            committed.update(_committed(needs, step))
            _add_groups(needs, step)
    needs.topics = {
        name: partitions
        for name, partitions in recorded.items()
        if name in spoken or any(_matches(pattern, name) for pattern in patterns)
    }
    return needs


def _add_coordinator(needs: Needs, step: Step) -> None:
    """Note the coordinator of the first group, or transaction, on a connection."""
    if step.speaker in needs.coordinators or step.api in ("metadata", "find_coordinator"):
        return
    group, transaction = first(step.values, "group_id"), first(step.values, "transactional_id")
    if transaction and step.api != "txn_offset_commit":
        needs.coordinators[step.speaker] = (TRANSACTION, transaction)
    elif group:
        needs.coordinators[step.speaker] = (GROUP, group)


def _add_topics(needs: Needs, recorded: dict[str, int], step: Step) -> None:
    for topic in step.values.get("topics", ()):
        name, partitions = topic.get("name"), topic.get("partitions", 0)
        if isinstance(name, str) and isinstance(partitions, int) and partitions > 0:
            recorded.setdefault(name, partitions)
            if isinstance(topic.get("topic_id"), str):
                needs.topic_ids[topic["topic_id"]] = name


def _add_fetched(needs: Needs, committed: set[tuple[str, str, int]], step: Step) -> None:
    """Record offsets that must have been committed before the recording started."""
    assert step.request is not None, "it is an answer"
    group_ids = [group.get("group_id", "") for group in step.request.values.get("groups", ())]
    for group_id, group in zip(group_ids, step.values.get("groups", ()), strict=False):
        for topic, partition in _partitions(needs, group):
            key = (group_id, topic, partition.get("partition_index", 0))
            offset = partition.get("committed_offset", 0)
            if key not in committed and offset >= 0 and "error_code" not in partition:
                needs.offsets.setdefault(key, offset)


def _committed(needs: Needs, step: Step) -> Iterator[tuple[str, str, int]]:
    if step.api in ("offset_commit", "txn_offset_commit"):
        for topic, partition in _partitions(needs, step.values):
            yield step.values.get("group_id", ""), topic, partition.get("partition_index", 0)


def _partitions(needs: Needs, values: Value) -> Iterator[tuple[str, Value]]:
    for topic in values.get("topics") or ():
        name = topic.get("name") or needs.topic_ids.get(topic.get("topic_id"), "")
        for partition in topic.get("partitions", ()):
            yield name, partition


def _add_groups(needs: Needs, step: Step) -> None:
    for name in ("group_id", "groups_names"):
        names = step.values.get(name)
        needs.groups.update([names] if isinstance(names, str) else names or ())
    needs.groups.update(group.get("group_id", "") for group in step.values.get("groups", ()))
    for element in (step.values, *step.values.get("transactions", ())):
        if transaction := element.get("transactional_id"):
            needs.transactions.add(transaction)
    needs.groups.discard("")


def _topics_in(values: Value) -> Iterator[str]:
    """Yield the topic names in a request."""
    if isinstance(values, list):
        for item in values:
            yield from [item] if isinstance(item, str) else _topics_in(item)
    elif isinstance(values, dict):
        for name, value in values.items():
            if name == "name" and isinstance(value, str):
                yield value
            elif isinstance(value, str):
                yield from topics_in(value)
            else:
                yield from _topics_in(value)


def _patterns_in(values: Value) -> Iterator[str]:
    pattern = values.get("subscribed_topic_regex")
    if isinstance(pattern, str) and pattern:
        yield pattern
    for topology in (values.get("topology") or {}).get("subtopologies", ()):
        yield from topology.get("source_topic_regex", ())


def _matches(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:
        return False
