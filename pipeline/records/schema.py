"""Types of the layout table: fields and the versions that contain them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class RecordError(ValueError):
    """Bytes that no known layout matches; the record is kept unchanged and reported."""


@dataclass(frozen=True, slots=True)
class Array:
    of: Any
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Struct:
    """Fields in byte order. `nullable` structs begin with a presence byte (flexible versions only)."""

    fields: tuple[Field, ...]
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One field by its Kafka name.

    Attributes:
        type: Name of a primitive, an `Array` or a `Struct`.
        since: First value version that contains it; other versions read as `default`.
        until: Last value version that contains it.
        tag: Tag number. Tagged fields are in the tag section, and not written if they equal `default`.
    """

    name: str
    type: Any
    since: int = 0
    until: int = 32767
    default: Any = None
    tag: int | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """One format of a value.

    Attributes:
        versions: First and last value version.
        flexible_from: First version with compact lengths and tag sections.
        dialect: Writer of this format, if not current Apache Kafka.
    """

    body: Struct
    versions: tuple[int, int] = (0, 0)
    flexible_from: int = 32767
    dialect: str = ""


def struct(*fields: Field, nullable: bool = False) -> Struct:
    return Struct(fields, nullable)
