"""The vocabulary of the layout table: what a field is, and from which version it exists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class RecordError(ValueError):
    """Bytes that no known layout explains; the record is kept as it is and reported."""


@dataclass(frozen=True, slots=True)
class Array:
    of: Any
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields in the order of the bytes; `nullable` has a presence byte in front (flexible versions only)."""

    fields: tuple[Field, ...]
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One field under Kafka's own name.

    type: the name of a primitive, an `Array` or a `Struct`.
    since, until: value versions that carry it, both inclusive; elsewhere a reader sees `default`.
    tag: tagged fields stand in the tag section, and are left out by a writer when they equal `default`.
    """

    name: str
    type: Any
    since: int = 0
    until: int = 32767
    default: Any = None
    tag: int | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to read a value.

    versions: the value versions it is for, first and last.
    flexible_from: first version with compact lengths and tag sections.
    dialect: who writes it this way, when it isn't Apache Kafka of today.
    """

    body: Struct
    versions: tuple[int, int] = (0, 0)
    flexible_from: int = 32767
    dialect: str = ""


def struct(*fields: Field, nullable: bool = False) -> Struct:
    return Struct(fields, nullable)
