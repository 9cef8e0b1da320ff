"""Facts from a history about a move of a group to the consumer protocol (KIP-848).

Each statement is certain, likely or unknown. Logs contain neither a client's library nor its version, so the form of
its subscription is a hint only. Source: KIP-848; recorded groups of Java, librdkafka and six other libraries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, NamedTuple

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import listed, seconds, several
from kohort.pipeline.silver.silver_rows import GroupMember, GroupRecord

Certainty = Literal["certain", "likely", "unknown"]
Subject = Literal["blocker", "change", "stays", "cost", "unknown"]

GROUP_METADATA = 2
STANDARD_ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
STICKY: Final = ("sticky", "cooperative-sticky")
DEFAULT_SESSION_MS = 45_000
RANGE_FIRST = "Set partition.assignment.strategy of all members to range first, in a separate rollout"


class Statement(NamedTuple):
    """One fact for the decision, and what to do about it."""

    subject: Subject
    certainty: Certainty
    text: str
    advice: str = ""


@dataclass
class Readiness:
    """Statements about one group, blockers first. verdict: one phrase that follows from them."""

    group: str
    verdict: str
    statements: list[Statement] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"statements": [statement._asdict() for statement in self.statements]}


class _Newest(NamedTuple):
    """The newest record of a classic group that has members, with the members in it."""

    record: GroupRecord
    members: list[GroupMember]

    @property
    def are_consumers(self) -> bool:
        """Whether the members are consumers, not threads of Kafka Streams, workers of Connect or others."""
        return self.record.protocol_type == "consumer" and self.record.protocol != "stream"


def can_move(analysis: GroupAnalysis) -> bool:
    """Return whether the group is a classic group of consumers, which could move."""
    newest = _newest(analysis)
    return analysis.group_type == "classic" and newest is not None and newest.are_consumers


def readiness(analysis: GroupAnalysis) -> Readiness:
    """Return what prevents group.protocol=consumer, what to change, what stays, and what is not known."""
    newest = _newest(analysis)
    if analysis.group_type != "classic":
        statements = list(_of_other_type(analysis))
    elif newest is None:
        statements = [
            Statement(
                "unknown",
                "unknown",
                "these sources contain no record of a generation with members, so neither assignors nor user data "
                "are known",
                "Analyze the offsets topic, too: give a bootstrap address or a copy of its segment files",
            )
        ]
    else:
        statements = list(_blockers(analysis, newest))
        if newest.are_consumers:
            statements += [*_changes(newest), *_stays(newest.members), *_not_in_logs(newest.members)]
    return Readiness(analysis.group_id, _verdict(analysis.group_type, newest, statements), statements)


def _verdict(group_type: str, newest: _Newest | None, statements: list[Statement]) -> str:
    blockers = [statement for statement in statements if statement.subject == "blocker"]
    if group_type == "consumer":
        return "uses the consumer protocol" if not blockers else "has not finished the move"
    if group_type == "simple":
        return "has no members that could move"
    if group_type != "classic":
        return "has a protocol of its own"
    if any(statement.certainty == "certain" for statement in blockers):
        return "not ready"
    if blockers:
        return "probably not ready"
    return "no known blocker" if newest is not None else "not known"


def _newest(analysis: GroupAnalysis) -> _Newest | None:
    records = [r for r in analysis.group.records if r.record_type == GROUP_METADATA and r.n_members]
    if not records:
        return None
    last = max(records, key=lambda record: (record.partition, record.offset))
    members = [m for m in analysis.group.members if (m.partition, m.offset) == (last.partition, last.offset)]
    return _Newest(last, members)


def _of_other_type(analysis: GroupAnalysis) -> Iterator[Statement]:
    """Yield statements about a group that is not classic."""
    kind = analysis.group_type
    if kind == "consumer":
        yield Statement("stays", "certain", "the group already has the consumer protocol")
        last = next((g for g in reversed(analysis.generations) if g.members), None)
        classic = [m.name for m in last.members.values() if m.speaks == "classic"] if last is not None else []
        if classic:
            yield Statement(
                "blocker",
                "certain",
                f"{several(len(classic), 'member')} still {'uses' if len(classic) == 1 else 'use'} the classic "
                f"protocol: {listed(classic)}",
                "Finish the rollout: set group.protocol=consumer for all members",
            )
    elif kind == "streams":
        yield Statement("stays", "certain", "the group has the streams protocol (KIP-1071), not that of consumers")
    elif kind == "share":
        yield Statement("stays", "certain", "share groups have a protocol of their own (KIP-932)")
    elif kind == "simple":
        yield Statement("stays", "certain", "the group has commits but no members; its consumers assign partitions")


def _blockers(analysis: GroupAnalysis, newest: _Newest) -> Iterator[Statement]:
    record, members = newest
    if record.protocol_type != "consumer":
        yield Statement(
            "blocker",
            "certain",
            f"its protocol type is {record.protocol_type}: workers of Kafka Connect and other groups that are not "
            "consumers stay classic",
        )
        return
    if record.protocol == "stream":
        yield Statement(
            "blocker",
            "certain",
            "the group is a Kafka Streams application (assignor stream)",
            "Use group.protocol=streams (KIP-1071) instead, in a release that has it",
        )
        return
    if record.protocol not in STANDARD_ASSIGNORS:
        yield Statement(
            "blocker",
            "certain",
            f"the assignor {record.protocol} is not one of Kafka's: the consumer protocol assigns at the broker and "
            "does not call it",
            f"{RANGE_FIRST}, or install a server-side assignor (group.consumer.assignors)",
        )
    yield from _refusals(analysis, newest)
    yield from _old_clients(members)


def _refusals(analysis: GroupAnalysis, newest: _Newest) -> Iterator[Statement]:
    """Yield the reasons for which the broker refuses to convert the group, or did so."""
    record, members = newest
    sizes = [member.assignment_user_data_bytes for member in members if member.assignment_user_data_bytes]
    refused = [e for e in analysis.group.events if e.kind == "conversion_refused" and _to_consumer(e.detail)]
    if sizes:
        yield Statement(
            "blocker",
            "certain",
            f"the assignments of {several(len(sizes), 'member')} contain user data ({max(sizes)} bytes): the broker "
            "refuses to convert such a group. In a rolling restart each member that starts with the new protocol fails; "
            "only one that finds the group empty works",
            RANGE_FIRST,
        )
    elif record.protocol in STICKY and has_librdkafka_form(members):
        yield Statement(
            "blocker",
            "likely",
            f"the members look like librdkafka with {record.protocol}, which writes user data into assignments from "
            "the second generation on; the broker then refuses to convert the group",
            RANGE_FIRST,
        )
    if refused:
        reason = (refused[-1].detail or {}).get("reason", "")
        yield Statement(
            "blocker",
            "likely" if not sizes and refused[-1].ts < record.ts_ms else "certain",
            f"the broker refused to convert the group {several(len(refused), 'time')}: {reason}",
            "" if sizes else "R41 names the change that this reason needs",
        )


def _to_consumer(detail: dict[str, str] | None) -> bool:
    return (detail or {}).get("to", "consumer") == "consumer"


def has_librdkafka_form(members: Iterable[GroupMember]) -> bool:
    """Return whether members look like librdkafka: subscriptions of version 3, and user data in assignments.

    Of the recorded libraries only librdkafka has both. Its user data is empty unless its assignor is sticky; Java and
    franz-go write null.
    """
    return any(m.subscription_version == 3 and m.assignment_user_data_bytes is not None for m in members)


_BY_VERSION: Final = {
    0: "aiokafka, kafka-python, sarama with an old Version, or Java before 2.4",
    1: "Java before 3.4, or kafka-go",
    2: "sarama, or Java before 3.5",
}  # subscription versions that no recorded library with the consumer protocol sends


def _old_clients(members: list[GroupMember]) -> Iterator[Statement]:
    by_version: dict[int | None, list[str]] = {}
    for member in members:
        by_version.setdefault(member.subscription_version, []).append(member.client_id or member.member_id)
    for version, names in sorted(by_version.items(), key=lambda item: -1 if item[0] is None else item[0]):
        some = f"{several(len(names), 'member')} ({listed(sorted(names))})"
        if version is None:
            yield Statement(
                "blocker",
                "likely",
                f"the subscriptions of {some} cannot be decoded, as those of kafka-go, which has no consumer protocol",
                "Find out which client library it is, and use one with group.protocol=consumer",
            )
        elif version in _BY_VERSION:
            yield Statement(
                "blocker",
                "likely",
                f"{some} {'sends' if len(names) == 1 else 'send'} subscriptions of version {version}, as "
                f"{_BY_VERSION[version]}: such a client has no group.protocol=consumer",
                "Update the client first, or use a library with the consumer protocol (Java from 4.0, librdkafka)",
            )


def _changes(newest: _Newest) -> Iterator[Statement]:
    record, members = newest
    sessions = sorted({m.session_timeout_ms for m in members if m.session_timeout_ms})
    if sessions and sessions != [DEFAULT_SESSION_MS]:
        longest_ms = max(sessions)
        yield Statement(
            "change",
            "certain",
            f"session.timeout.ms of the clients ({', '.join(seconds(ms) for ms in sessions)}) no longer applies; a "
            "client that has it with group.protocol=consumer does not start",
            f"Set consumer.session.timeout.ms={longest_ms} for the group (kafka-configs --entity-type groups). The broker "
            "allows 45 s to 60 s unless group.consumer.min.session.timeout.ms and .max. differ",
        )
    if record.protocol is not None:
        ranged = record.protocol == "range"
        yield Statement(
            "change",
            "certain",
            f"partition.assignment.strategy ({record.protocol}) no longer applies; the broker uses its first assignor, "
            "uniform unless group.consumer.assignors differs",
            "Set group.remote.assignor=range if the application needs the same partitions of several topics in one "
            "member"
            if ranged
            else "Remove partition.assignment.strategy from the clients",
        )


def _stays(members: list[GroupMember]) -> Iterator[Statement]:
    timeouts = sorted({m.rebalance_timeout_ms for m in members if m.rebalance_timeout_ms})
    if timeouts:
        yield Statement(
            "stays",
            "certain",
            f"max.poll.interval.ms ({', '.join(seconds(ms) for ms in timeouts)}) stays, as the time that a member has "
            "to revoke partitions",
        )
    static = [m.instance_id for m in members if m.instance_id]
    if static:
        yield Statement("stays", "certain", f"{several(len(static), 'static id')} (group.instance.id) can stay")


def _not_in_logs(members: list[GroupMember]) -> Iterator[Statement]:
    if any(member.subscription_version == 3 for member in members):
        likely = "librdkafka" if has_librdkafka_form(members) else "Java from 3.5, or franz-go"
        yield Statement(
            "unknown",
            "likely",
            f"the clients look like {likely}; logs do not contain the version",
            "Read name and version in the broker's request log (kafka.request.logger, clientInformation): Java needs "
            "4.0, librdkafka a release with group.protocol",
        )
    yield Statement(
        "unknown",
        "unknown",
        "heartbeat.interval.ms of the clients, which no longer applies, is in no log",
        "Set consumer.heartbeat.interval.ms for the group if it is not the default: 3 s becomes 5 s",
    )
    yield Statement(
        "unknown",
        "unknown",
        "whether clients subscribe by pattern is not in the logs of a classic group: the client sends the matching "
        "topics only",
        "Check the code: java.util.regex.Pattern stays in the client, SubscriptionPattern is RE2J at the broker",
    )
    yield Statement(
        "unknown",
        "unknown",
        "settings of the group (consumer.*), of the broker (group.consumer.migration.policy, "
        "group.coordinator.rebalance.protocols) and ACLs are in the cluster's metadata, not in these logs",
        "Read them with kafka-configs --describe and kafka-acls --list",
    )


def readiness_json(groups: list[Readiness]) -> str:
    """Return the content of readiness.json."""
    return json.dumps([group.as_json() for group in groups], indent=1, ensure_ascii=False) + "\n"
