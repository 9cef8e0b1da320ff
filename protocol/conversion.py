"""Converts kio's classes, one per API and version, to shapes, one per message, and back.

Fields have the same names on both sides; kio's timedelta and datetime are milliseconds here, and the field's name ends
in `_ms`. Fields that a version lacks have the shape's default. All of this is compiled once per pair of classes.

Requests are read often, so they are not copied: kio's class gets the attributes of the shape, and its objects are used
in place of one. They can be read, printed and compared like the shape, but they are not instances of it and are
immutable. Responses (read in tests only) are converted.
"""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

Convert = Callable[[Any], Any]

_MS = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def dress(entity: type, shape: type) -> None:
    """Add the missing attributes of a shape to a kio class: a default, or a value in milliseconds.

    Structures that are absent from a tagged field keep kio's default.
    """
    theirs = _names(entity)
    pairs = names_of_pairs(entity, shape)
    for name, hint in _names(shape).items():
        kio = pairs.get(name)
        if kio is None:
            setattr(entity, name, shape.__dataclass_fields__[name].default)  # type: ignore[attr-defined]
        elif kio != name:
            setattr(entity, name, property(_milliseconds_of(kio)))
        elif is_dataclass(inner := _innermost(theirs[kio])):
            dress(inner, _innermost(hint))  # type: ignore[arg-type]


def _milliseconds_of(name: str) -> Convert:
    get = attrgetter(name)
    return lambda entity: get(entity) // _MS


def _innermost(hint: Any) -> Any:
    hint = without_none(hint)
    return without_none(get_args(hint)[0]) if get_origin(hint) is tuple else hint


@cache
def to_shape(entity: type, shape: type) -> Convert | None:
    """Return the conversion from a kio `entity` to a `shape`, or None if it can be used unchanged."""
    ours, theirs = _names(shape), _names(entity)
    pairs = names_of_pairs(entity, shape)
    converts = {name: _value_to_shape(theirs[kio], ours[name]) for name, kio in pairs.items()}
    for name, kio in pairs.items():
        default = entity.__dataclass_fields__[kio].default  # type: ignore[attr-defined]
        if is_dataclass(default):
            converts[name] = _none_when_default(default, converts[name])
    if pairs.keys() == ours.keys() and not any(converts.values()):
        return None
    return _build(shape, pairs, converts)


@cache
def from_shape(shape: type, entity: type) -> Convert:
    """Return the conversion from a `shape` to a kio `entity`. Fields that the entity's version lacks are omitted."""
    ours, theirs = _names(shape), _names(entity)
    pairs = names_of_pairs(entity, shape)
    converts = {kio: _value_from_shape(ours[name], theirs[kio]) for name, kio in pairs.items()}
    for kio in pairs.values():
        default = entity.__dataclass_fields__[kio].default  # type: ignore[attr-defined]
        if is_dataclass(default):
            converts[kio] = _default_when_none(default, converts[kio])
    return _build(entity, {kio: name for name, kio in pairs.items()}, converts)


def _build(target: type, pairs: dict[str, str], converts: dict[str, Convert | None]) -> Convert:
    """Return a function that creates a `target` from the given source attributes, converting some of them."""
    names = tuple(pairs)
    changed = [(name, convert) for name, convert in converts.items() if convert]
    if len(names) == 1:
        (name,) = names
        get, convert = attrgetter(pairs[name]), converts[name]
        return lambda source: target(**{name: convert(get(source)) if convert else get(source)})
    if not names:
        return lambda source: target()
    get_all: Convert = attrgetter(*pairs.values())

    def build(source: Any) -> Any:
        values = dict(zip(names, get_all(source), strict=True))
        for name, convert in changed:
            values[name] = convert(values[name])
        return target(**values)

    return build


def names_of_pairs(entity: type, shape: type) -> dict[str, str]:
    """Map the shape's field names to kio's. Every field of kio must have a counterpart."""
    theirs = _names(entity)
    pairs = {}
    for member in fields(shape):
        name = member.name
        kio = name if name in theirs else name.removesuffix("_ms")
        if kio in theirs:
            pairs[name] = kio
        else:
            has_default = member.default is not MISSING or member.default_factory is not MISSING
            assert has_default, f"{shape.__name__}.{name}: version without it, and no default"
    lost = theirs.keys() - pairs.values()
    assert not lost, f"{shape.__name__} has no place for {lost}"
    return pairs


@cache
def _names(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {member.name: hints[member.name] for member in fields(cls)}


def _value_to_shape(theirs: Any, ours: Any) -> Convert | None:
    theirs, ours = without_none(theirs), without_none(ours)
    if get_origin(theirs) is tuple:
        return _element_wise(_value_to_shape(get_args(theirs)[0], get_args(ours)[0]))
    if is_dataclass(theirs):
        return _unless_none(to_shape(theirs, ours))  # type: ignore[arg-type]
    if issubclass(theirs, timedelta):
        return lambda value: value // _MS
    if issubclass(theirs, datetime):
        return lambda value: -1 if value is None else (value - _EPOCH) // _MS
    if get_origin(ours) is Sequence:
        return lambda value: value if value is None else (value,) if value else ()
    return None


def _value_from_shape(ours: Any, theirs: Any) -> Convert | None:
    nullable = isinstance(theirs, UnionType)
    theirs, ours = without_none(theirs), without_none(ours)
    if get_origin(theirs) is tuple:
        return _element_wise(_value_from_shape(get_args(ours)[0], get_args(theirs)[0]))
    if is_dataclass(theirs):
        return _unless_none(from_shape(ours, theirs))  # type: ignore[arg-type]
    if issubclass(theirs, timedelta):
        return lambda value: value * _MS
    if issubclass(theirs, datetime):
        # Not every moment may be null in kio; there, -1 is the millisecond before 1970, which is the same on the wire.
        return lambda value: None if value == -1 and nullable else _EPOCH + value * _MS
    if get_origin(ours) is Sequence:
        return lambda value: value if value is None else b"".join(value)
    return None


def without_none(hint: Any) -> Any:
    if isinstance(hint, UnionType):
        kept = tuple(a for a in get_args(hint) if a is not NoneType)
        return kept[0] if len(kept) == 1 else hint
    return hint


def _element_wise(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda values: None if values is None else tuple(map(convert, values))


def _unless_none(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: None if value is None else convert(value)


def _none_when_default(default: Any, convert: Convert | None) -> Convert:
    """Convert an absent structure in a tagged field to None."""
    return lambda value: None if value == default else convert(value) if convert else value


def _default_when_none(default: Any, convert: Convert | None) -> Convert:
    return lambda value: default if value is None else convert(value) if convert else value
