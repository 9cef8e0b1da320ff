"""Records of classic groups, decoded by recurring parts.

In every generation a group's record contains everything about every member, and most bytes equal those of the previous
record. So a value is split by lengths alone, and the part that identifies a member is decoded once. An irregular value
is not split: the plain decoder reads it.
"""

from __future__ import annotations

from struct import Struct as Packing
from struct import error
from typing import Any, NamedTuple

from kohort.protocol.records.layouts import CONSUMER_OFFSETS, GROUP_METADATA
from kohort.protocol.records.record_reader import Value, read_fields
from kohort.protocol.records.schema import Array, RecordError, Struct

_SHORT, _INT = Packing(">h"), Packing(">i")
_NEWEST = 3  # later versions have compact lengths; Kafka 4.3 still writes this one
_KEPT = 20_000


class Who(NamedTuple):
    """A member as in its group's record, without the two blobs. `rebalance_timeout` is -1 in version 0."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: int
    session_timeout: int


class ClassicGroup(NamedTuple):
    """A group's record.

    Attributes:
        head: Fields of the value by their Kafka names, without the members.
        members: Members as (who, subscription, assignment).
    """

    version: int
    head: Value
    members: list[tuple[Who, bytes, bytes]]


def _layout() -> tuple[Struct, Struct]:
    """Return the parts of the layout that are read here: the group's own fields, and those that identify a member."""
    *head, members = CONSUMER_OFFSETS.values[GROUP_METADATA][0].body.fields
    assert isinstance(members.type, Array)
    *identity, _subscription, _assignment = members.type.of.fields
    return Struct(tuple(head)), Struct(tuple(identity))


_HEAD, _IDENTITY = _layout()


def plain_group(version: int, value: Value) -> ClassicGroup:
    """Return the output of the plain decoder as a `ClassicGroup`."""
    members = [(_identity(member), member["subscription"], member["assignment"]) for member in value["members"]]
    return ClassicGroup(version, {name: field for name, field in value.items() if name != "members"}, members)


class GroupReader:
    """Reads the values of one log, and caches decoded members."""

    def __init__(self) -> None:
        self._identities: dict[tuple[int, bytes], Who] = {}

    def read(self, value: bytes) -> ClassicGroup | None:
        """Return the group in a value of type 2, or None if it must go to the plain decoder."""
        try:
            version = _SHORT.unpack_from(value)[0]
            if not 0 <= version <= _NEWEST:
                return None
            head, at = read_fields(_HEAD, version, value, 2)
            return ClassicGroup(version, head, self._members(version, value, at))
        except (RecordError, error):
            return None

    def _members(self, version: int, value: bytes, at: int) -> list[tuple[Who, bytes, bytes]]:
        short, number, cache = _SHORT.unpack_from, _INT.unpack_from, self._identities
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
            identity = cache.get(name) or self._decode_identity(name)  # rejects values split at negative lengths
            at = assignment + assigned
            members.append((identity, value[subscription : assignment - 4], value[assignment:at]))
        if at != len(value):
            raise RecordError("bytes after the value, or too few")
        return members

    def _decode_identity(self, name: tuple[int, bytes]) -> Who:
        version, piece = name
        fields, end = read_fields(_IDENTITY, version, piece, 0)
        if end != len(piece):
            raise RecordError("a member cut in the wrong place")
        if len(self._identities) >= _KEPT:
            self._identities.clear()
        identity = self._identities[name] = _identity(fields)
        return identity


def _identity(fields: dict[str, Any]) -> Who:
    return Who(
        fields["memberId"],
        fields["groupInstanceId"],
        fields["clientId"],
        fields["clientHost"],
        fields["rebalanceTimeout"],
        fields["sessionTimeout"],
    )
