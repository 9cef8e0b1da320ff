"""Made-up messages of any API and version, as kio would read them, at times with long texts and arrays."""

from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints
from uuid import UUID

from hypothesis import strategies as st

from kohort.protocol.errors import ErrorCode

_MS = timedelta(milliseconds=1)


@cache
def entities(entity: type) -> st.SearchStrategy[Any]:
    """Instances of one of kio's classes."""
    hints = get_type_hints(entity)
    members = {}
    for member in fields(entity):
        strategy = _values(hints[member.name], member.metadata.get("kafka_type", ""), "tag" in member.metadata)
        if member.default is not MISSING:
            strategy = st.just(member.default) | strategy
        members[member.name] = strategy
    return st.builds(entity, **members)


def _values(hint: Any, kafka_type: str, tagged: bool) -> st.SearchStrategy[Any]:
    if isinstance(hint, UnionType):
        (inner,) = (a for a in get_args(hint) if a is not NoneType)
        values = _values(inner, kafka_type, tagged)
        return values if tagged and kafka_type != "uuid" else st.none() | values
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        short = st.lists(_values(inner, kafka_type, tagged), max_size=2).map(tuple)
        # A length above 127 takes two bytes where lengths are compact.
        return short | short.map(lambda values: values[:1] * 130) if _is_leaf(inner) else short
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return entities(hint)
    return _scalars(hint, kafka_type)


def _is_leaf(hint: Any) -> bool:
    return not is_dataclass(hint) or not any(get_origin(inner) is tuple for inner in get_type_hints(hint).values())


def _scalars(hint: Any, kafka_type: str) -> st.SearchStrategy[Any]:
    if issubclass(hint, timedelta):
        return st.integers(-(2**31), 2**31 - 1).map(lambda ms: ms * _MS)
    if issubclass(hint, datetime):
        return st.integers(0, 2**41).map(lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + ms * _MS)
    if issubclass(hint, ErrorCode):
        return st.sampled_from(ErrorCode)
    if issubclass(hint, UUID):
        return st.uuids()
    if issubclass(hint, bool):
        return st.booleans()
    if issubclass(hint, int):
        bits = int(kafka_type.removeprefix("u").removeprefix("int"))
        low = 0 if kafka_type.startswith("u") else -(2 ** (bits - 1))
        return st.integers(low, low + 2**bits - 1)
    if issubclass(hint, float):
        return st.floats(allow_nan=False, allow_infinity=False)
    if issubclass(hint, str):
        return st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(["m" * 126, "m" * 127, "ü" * 200])
    assert issubclass(hint, bytes)
    return st.binary(max_size=8) | st.sampled_from([b"x" * 126, b"x" * 127, b"x" * 300])
