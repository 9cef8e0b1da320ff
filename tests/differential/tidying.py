"""What of an answer belongs to the sequence that asked: others run at the same time, and have groups and topics too."""

from __future__ import annotations

from kohort.protocol.consumer_protocol import ImpossibleLengthError, read_assignment
from tests.differential.sequence import Step
from tests.talk.values import Value, to_bytes

LISTS = {
    "ListGroups": ("groups", "group_id"),
    "ListTransactions": ("transaction_states", "transactional_id"),
    "ListConfigResources": ("config_resources", "resource_name"),
    "ListPartitionReassignments": ("topics", "name"),
    "Metadata": ("topics", "name"),
    "DescribeTopicPartitions": ("topics", "name"),
}
"""Requests that list everything if they name nothing."""

DEFAULT_TAGGED = {
    "diverging_epoch": {"epoch": -1, "end_offset": -1},
    "current_leader": {"leader_id": -1, "leader_epoch": -1},
    "snapshot_id": {"end_offset": -1, "epoch": -1},
}


def own_part(asked: Step, answer: Value, mark: str) -> Value:
    """Return the response without effects of other sequences."""
    api, values = asked.api, asked.values or {}
    if api in LISTS and not (api in ("Metadata", "DescribeTopicPartitions") and values.get("topics")):
        part, name = LISTS[api]
        answer = answer | {part: [each for each in answer[part] if f"-{mark}" in str(each[name])]}
        if api == "DescribeTopicPartitions":
            answer.pop("next_cursor", None)  # of everything there is
    if api == "SyncGroup":
        answer = answer | {"assignment": _assignment(answer["assignment"])}
    if api == "ElectLeaders":
        answer = answer | {"replica_election_results": _of_topics(answer["replica_election_results"], "topic", mark)}
    if api == "DescribeLogDirs":
        answer = answer | {"results": [_log_dir(result, mark) for result in answer["results"]]}
    return answer


def _of_topics(topics: Value, name: str, mark: str) -> Value:
    """Return the requested topics without those of other sequences."""
    return [topic for topic in topics if topic[name].endswith(f"-{mark}") or "-" not in topic[name]]


def _log_dir(result: Value, mark: str) -> Value:
    return result | {"topics": _of_topics(result["topics"], "name", mark)}


def _assignment(text: str) -> Value:
    """Decode an assignment of the consumer protocol with sorted topics; other bytes are unchanged."""
    data = to_bytes(text)
    try:
        assignment = read_assignment(data)
    except ImpossibleLengthError:
        return text
    if assignment is None:
        return text
    shares = {topic: sorted(assignment.partitions[topic]) for topic in sorted(assignment.partitions)}
    return {"version": assignment.version, "partitions": shares, "user_data": assignment.user_data, "bytes": len(data)}
