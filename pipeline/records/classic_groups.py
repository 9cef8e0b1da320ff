"""Records of classic groups, read by the pieces that come again and again.

In every generation a group's record holds everything about every member, and most bytes are those of the record before.
So a value is cut into pieces by lengths alone, and the piece that identifies a member is decoded once. A value with
anything odd about it is not cut: the plain decoder reads it.
"""

from __future__ import annotations

from struct import Struct as Packing
from struct import error
from typing import Any, NamedTuple

from kohort.pipeline.records.layouts import GROUP_METADATA, VALUES
from kohort.pipeline.records.record_codec import Value, read_fields
from kohort.pipeline.records.schema import Array, RecordError, Struct

_SHORT, _INT = Packing(">h"), Packing(">i")
_NEWEST = 3
"""Later versions have compact lengths; Kafka 4.3 still writes this one."""
_KEPT = 20_000


class Who(NamedTuple):
    """A member as its group's record has it, apart from the two blobs. rebalance_timeout: -1 in version 0."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int


class ClassicGroup(NamedTuple):
    """head: the value's fields under Kafka's names, without the members. members: (who, subscription, assignment)."""

    version: int
    head: Value
    members: list[tuple[Who, bytes, bytes]]


def _layout() -> tuple[Struct, Struct]:
    """The parts of the layout that are read here: the group's own fields, and those that identify a member."""
    *head, members = VALUES[GROUP_METADATA][0].body.fields
    assert isinstance(members.type, Array)
    *who, _subscription, _assignment = members.type.of.fields
    return Struct(tuple(head)), Struct(tuple(who))


_HEAD, _WHO = _layout()


def plain_group(version: int, value: Value) -> ClassicGroup:
    """What the plain decoder read, in the same form."""
    members = [(_who(member), member["subscription"], member["assignment"]) for member in value["members"]]
    return ClassicGroup(version, {name: field for name, field in value.items() if name != "members"}, members)


class GroupReader:
    """Reads the values of one log, and remembers the members it has decoded."""

    def __init__(self) -> None:
        self._met: dict[tuple[int, bytes], Who] = {}

    def read(self, value: bytes) -> ClassicGroup | None:
        """The group of a value of type 2; None when only the plain decoder may judge it."""
        try:
            version = _SHORT.unpack_from(value)[0]
            if not 0 <= version <= _NEWEST:
                return None
            head, at = read_fields(_HEAD, version, value, 2)
            return ClassicGroup(version, head, self._members(version, value, at))
        except (RecordError, error):
            return None

    def _members(self, version: int, value: bytes, at: int) -> list[tuple[Who, bytes, bytes]]:
        short, number, met = _SHORT.unpack_from, _INT.unpack_from, self._met
        timeouts = 8 if version >= 1 else 4
        (count,) = number(value, at)
        at += 4
        if not 0 <= count <= len(value) - at:
            raise RecordError("an impossible number of members")
        members = []
        for _ in range(count):
            start = at
            at += 2 + short(value, at)[0]
            if version >= 3:
                at += 2 + max(0, short(value, at)[0])  # -1: no instance id
            at += 2 + short(value, at)[0]
            at += 2 + short(value, at)[0] + timeouts
            (size,) = number(value, at)
            subscription = at + 4
            assignment = subscription + size + 4
            (assigned,) = number(value, assignment - 4)
            if size < 0 or assigned < 0:
                raise RecordError("null where bytes must be")
            name = version, value[start:at]
            who = met.get(name) or self._meet(name)  # refuses what lengths below zero have cut
            at = assignment + assigned
            members.append((who, value[subscription : assignment - 4], value[assignment:at]))
        if at != len(value):
            raise RecordError("bytes after the value, or too few")
        return members

    def _meet(self, name: tuple[int, bytes]) -> Who:
        version, piece = name
        fields, end = read_fields(_WHO, version, piece, 0)
        if end != len(piece):
            raise RecordError("a member cut in the wrong place")
        if len(self._met) >= _KEPT:
            self._met.clear()
        who = self._met[name] = _who(fields)
        return who


def _who(fields: dict[str, Any]) -> Who:
    return Who(
        fields["memberId"],
        fields["groupInstanceId"],
        fields["clientId"],
        fields["clientHost"],
        fields["rebalanceTimeout"],
        fields["sessionTimeout"],
    )
