"""Kafka's error codes, and the exception for malformed bytes."""

from typing import Any, Final

from kio.schema.errors import ErrorCode

__all__ = [
    "CONTROLLER_ID_NOT_REGISTERED",
    "GROUP_DELETION_FAILED",
    "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED",
    "DecodeError",
    "ErrorCode",
    "TooManyElementsError",
]


def _add(code: int, name: str) -> ErrorCode:
    """Add a code of Kafka 4.4 to kio's enumeration, which ends at 133. None of them is retriable."""
    members: Any = ErrorCode
    if name not in members._member_map_:
        member: Any = int.__new__(ErrorCode, code)
        member._name_, member._value_, member.retriable = name, code, False
        members._member_map_[name] = members._value2member_map_[code] = member
        members._member_names_.append(name)
    added: ErrorCode = members._member_map_[name]
    return added


GROUP_DELETION_FAILED: Final = _add(134, "group_deletion_failed")
STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED: Final = _add(135, "streams_topology_description_update_failed")
CONTROLLER_ID_NOT_REGISTERED: Final = _add(136, "controller_id_not_registered")


class DecodeError(Exception):
    """Malformed bytes. Their connection is closed."""


class TooManyElementsError(DecodeError):
    """A request exceeds the limit of array elements and tagged fields."""
