"""API versions of Kafka 4.4 that kio 0.6.5 lacks, as classes that kio can read and write.

A version is either complete, or the previous version with changes. Source: Kafka's message schemas; newer-release §2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, field, fields, is_dataclass, make_dataclass
from functools import cache
from types import GenericAlias, UnionType
from typing import Any, Final, NamedTuple, get_args, get_origin
from uuid import UUID

from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from kohort.protocol.lean_kio import entity_module


class _Part(NamedTuple):
    """One field: its name, its type, and the default if it has one."""

    name: str
    type: str  # of `_PRIMITIVES`, or the name of a structure; `[]` in front for arrays, `?` behind if null is allowed
    default: Any = MISSING


_PRIMITIVES: Final[dict[str, tuple[Any, str]]] = {
    "bool": (bool, "bool"),
    "int8": (i8, "int8"),
    "int16": (i16, "int16"),
    "int32": (i32, "int32"),
    "int64": (i64, "int64"),
    "string": (str, "string"),
    "uuid": (UUID | None, "uuid"),
    "error": (ErrorCode, "error_code"),
    "duration": (i32Timedelta, "timedelta_i32"),
}

# Complete messages: structures in an order in which each one is declared before its use; the last one is the message.
_NODE = (
    _Part("name", "string"),
    _Part("node_type", "int8"),
    _Part("source_topics", "[]string"),
    _Part("sink_topic", "string?", None),
    _Part("stores", "[]string"),
    _Part("successors", "[]string"),
)
_DESCRIPTION = {
    "TopologyDescriptionNode": _NODE,
    "TopologyDescriptionSubtopology": (
        _Part("subtopology_id", "string"),
        _Part("nodes", "[]TopologyDescriptionNode"),
    ),
    "TopologyDescriptionGlobalStore": (
        _Part("source", "TopologyDescriptionNode"),
        _Part("processor", "TopologyDescriptionNode"),
    ),
    "TopologyDescription": (
        _Part("subtopologies", "[]TopologyDescriptionSubtopology"),
        _Part("global_stores", "[]TopologyDescriptionGlobalStore"),
    ),
}
_OUTCOME = (_Part("throttle_time", "duration"), _Part("error_code", "error"), _Part("error_message", "string?", None))
_COMPLETE: Final[dict[tuple[str, int, str], dict[str, tuple[_Part, ...]]]] = {
    ("streams_group_topology_description_update", 93, "request"): {
        **_DESCRIPTION,
        "StreamsGroupTopologyDescriptionUpdateRequest": (
            _Part("group_id", "string"),
            _Part("member_id", "string"),
            _Part("topology_epoch", "int32"),
            _Part("topology_description", "TopologyDescription"),
        ),
    },
    ("streams_group_topology_description_update", 93, "response"): {
        "StreamsGroupTopologyDescriptionUpdateResponse": _OUTCOME
    },
    ("unregister_controller", 94, "request"): {"UnregisterControllerRequest": (_Part("controller_id", "int32"),)},
    ("unregister_controller", 94, "response"): {"UnregisterControllerResponse": _OUTCOME},
}


class _Change(NamedTuple):
    """Fields of a structure that a version adds, after another field or at the end, and one that it removes."""

    structure: str
    parts: tuple[_Part, ...]
    after: str | None = None
    removed: str | None = None
    new_structures: dict[str, tuple[_Part, ...]] = {}  # noqa: RUF012  # never changed


_CHANGED: Final[dict[tuple[str, int, str], tuple[_Change, ...]]] = {
    ("api_versions", 5, "request"): (
        _Change("ApiVersionsRequest", (_Part("cluster_id", "string?", None), _Part("node_id", "int32", i32(-1)))),
    ),
    ("api_versions", 5, "response"): (),
    ("txn_offset_commit", 6, "request"): (
        _Change("TxnOffsetCommitRequestTopic", (_Part("topic_id", "uuid"),), after="name", removed="name"),
    ),
    ("txn_offset_commit", 6, "response"): (
        _Change("TxnOffsetCommitResponseTopic", (_Part("topic_id", "uuid"),), after="name", removed="name"),
    ),
    ("delete_groups", 3, "request"): (),
    ("delete_groups", 3, "response"): (_Change("DeletableGroupResult", (_Part("error_message", "string?", None),)),),
    ("streams_group_heartbeat", 1, "request"): (),
    # As in Kafka's schema of 4.4, where another field gets the name in version 1.
    ("streams_group_heartbeat", 0, "response"): (
        _Change(
            "StreamsGroupHeartbeatResponse",
            (_Part("acceptable_recovery_lag_legacy", "int32", i32(0)),),
            after="acceptable_recovery_lag",
            removed="acceptable_recovery_lag",
        ),
    ),
    ("streams_group_heartbeat", 1, "response"): (
        _Change(
            "StreamsGroupHeartbeatResponse",
            (_Part("acceptable_recovery_lag", "int64", i64(-1)),),
            after="task_offset_interval",
            removed="acceptable_recovery_lag",
        ),
        _Change(
            "StreamsGroupHeartbeatResponse",
            (_Part("topology_description_required", "bool", False),),
            after="warmup_tasks",
        ),
    ),
    ("streams_group_describe", 1, "request"): (
        _Change("StreamsGroupDescribeRequest", (_Part("include_topology_description", "bool", False),)),
    ),
    ("streams_group_describe", 1, "response"): (
        _Change(
            "DescribedGroup",
            (
                _Part("topology_description", "TopologyDescription?", None),
                _Part("topology_description_status", "int8", i8(0)),
                _Part("assignor_name", "string?", None),
            ),
            new_structures=_DESCRIPTION,
        ),
    ),
}


@cache
def newer_entity(api: str, version: int, kind: EntityType) -> type | None:
    """Return a class for a version that kio lacks, or None."""
    for (name, key, message), structures in _COMPLETE.items():
        if (name, message) == (api, kind.name):
            return _declare(structures, key, kind) if version == 0 else None
    changes = _CHANGED.get((api, version, kind.name))
    if changes is None:
        return None
    return _change(kio_entity(api, max(version - 1, 0), kind), changes, version)


def kio_entity(api: str, version: int, kind: EntityType) -> Any:
    """Return kio's class of a message.

    Raises:
        ModuleNotFoundError: kio lacks the version.
    """
    module = entity_module(api, version, kind.name)
    return next(cls for cls in vars(module).values() if getattr(cls, "__type__", None) is kind)


def _declare(structures: dict[str, tuple[_Part, ...]], key: int, kind: EntityType) -> type:
    classes: dict[str, type] = {}
    last = list(structures)[-1]
    for name, parts in structures.items():
        attributes = {
            "__type__": kind if name == last else EntityType.nested,
            "__version__": i16(0),
            "__flexible__": True,
            "__api_key__": i16(key),
        }
        classes[name] = _make(name, [_field(part, classes) for part in parts], attributes)
    return classes[last]


def _change(entity: type, changes: tuple[_Change, ...], version: int) -> type:
    """Return a copy of a class and of its structures for the next version."""
    classes: dict[str, type] = {}
    attributes = {"__flexible__": True, "__version__": i16(version)}

    def copy(cls: type) -> type:
        if cls.__name__ in classes:
            return classes[cls.__name__]
        kept = attributes | {"__type__": cls.__type__, "__api_key__": cls.__api_key__}  # type: ignore[attr-defined]
        members = [(member.name, _replace(member.type, copy), _copy_field(member)) for member in fields(cls)]
        for change in changes:
            if change.structure == cls.__name__:
                for name, parts in change.new_structures.items():
                    nested = kept | {"__type__": EntityType.nested}
                    classes[name] = _make(name, [_field(part, classes) for part in parts], nested)
                names = [name for name, _, _ in members]
                at = len(names) if change.after is None else names.index(change.after) + 1
                members[at:at] = [_field(part, classes) for part in change.parts]
                if change.removed is not None:
                    del members[names.index(change.removed)]
        classes[cls.__name__] = _make(cls.__name__, members, kept)
        return classes[cls.__name__]

    return copy(entity)


def _copy_field(member: Field[Any]) -> Field[Any]:
    copied: Field[Any] = field(default=member.default, metadata=member.metadata)
    return copied


def _replace(hint: Any, copy: Any) -> Any:
    """Return a type with copies of the structures in it."""
    if isinstance(hint, UnionType):
        inner = next(part for part in get_args(hint) if part is not type(None))
        return _replace(inner, copy) | None
    if get_origin(hint) is tuple:
        return GenericAlias(tuple, (_replace(get_args(hint)[0], copy), ...))
    return copy(hint) if is_dataclass(hint) else hint


def _field(part: _Part, classes: dict[str, type]) -> tuple[str, Any, Field[Any]]:
    name = part.type.removeprefix("[]").removesuffix("?")
    hint, kafka_type = _PRIMITIVES.get(name) or (classes[name], "")
    if part.type.startswith("[]"):
        hint = GenericAlias(tuple, (hint, ...))
    if part.type.endswith("?"):
        hint = hint | None
    return part.name, hint, field(default=part.default, metadata={"kafka_type": kafka_type} if kafka_type else None)


def _make(name: str, members: Iterable[tuple[str, Any, Any]], attributes: dict[str, Any]) -> type:
    return make_dataclass(name, members, frozen=True, slots=True, kw_only=True, namespace=dict(attributes))
