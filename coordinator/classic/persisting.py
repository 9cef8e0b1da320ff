"""A group's record in `__consumer_offsets`, at the moments that classic-groups §1.4 lists."""

from collections.abc import Mapping

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import NO_ASSIGNMENT
from kohort.coordinator.context import OnWritten
from kohort.coordinator.offsets_topic_records import GroupValue, MemberValue, group_key, group_value
from kohort.protocol.batches import EncodedRecords, encode_record


def group_entry(group: ClassicGroup, assignments: Mapping[str, bytes] | None = None) -> tuple[bytes, bytes]:
    """Key and value of the group's record. `assignments`: in place of those that the members have."""
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
    """Gives the group's record to the log. `assignments`: to be written in place of those that the members have.

    Returns the token of the `Append`.
    """
    record = EncodedRecords(encode_record(*group_entry(group, assignments), 0), 1)
    return group.coordinator.append(group.partition, record, now_ms, on_written, group_id=group.group_id)
