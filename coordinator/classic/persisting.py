"""The record of a group in `__consumer_offsets`, written when classic-groups §1.4 requires it."""

from collections.abc import Mapping

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import NO_ASSIGNMENT
from kohort.coordinator.context import OnWritten
from kohort.coordinator.offsets.offsets_topic_records import GroupValue, MemberValue, group_key, group_value
from kohort.protocol.batches import EncodedRecords, encode_record


def group_entry(group: ClassicGroup, assignments: Mapping[str, bytes] | None = None) -> tuple[bytes, bytes]:
    """Return the key and the value of the group's record.

    Args:
        assignments: Written in place of the members' current assignments.
    """
    name = group.protocol_name
    value = GroupValue(
        protocol_type=group.protocol_type or "",
        generation_id=group.generation_id,
        protocol_name=name,
        leader_id=group.leader_id,
        state_timestamp_ms=group.state_timestamp_ms,
        members=tuple(
            [
                MemberValue(
                    member.member_id,
                    member.group_instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.session_timeout_ms,
                    member.metadata(name),
                    member.assignment if assignments is None else assignments.get(member.member_id, NO_ASSIGNMENT),
                )
                for member in group.members.values()
            ]
        ),
    )
    return group_key(group.group_id), group_value(value)


def append_group(
    group: ClassicGroup,
    now_ms: int,
    on_written: OnWritten | None = None,
    assignments: Mapping[str, bytes] | None = None,
) -> int:
    """Append the group's record to the log, and return the token of the `Append`.

    Args:
        assignments: Written in place of the members' current assignments.
    """
    record = EncodedRecords(encode_record(*group_entry(group, assignments), 0), 1)
    return group.coordinator.append(group.partition, record, now_ms, on_written, group_id=group.group_id)
