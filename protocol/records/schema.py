"""Types of the layout table: fields and the versions that contain them."""

import struct as packing
from typing import Any, Final, NamedTuple

FIXED: Final = {
    name: packing.Struct(code)
    for name, code in {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "int64": ">q"}.items()
}  # numbers by the name of their type


class RecordError(ValueError):
    """Bytes that no known layout matches."""


class Array(NamedTuple):
    of: Any
    nullable: bool = False


class Field(NamedTuple):
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


class Step(NamedTuple):
    """Consecutive fields of a version that are read and written together.

    Attributes:
        numbers: Format of several numbers, or None for one other field.
        type: Type of the field, or None if it is absent or tagged.
    """

    numbers: packing.Struct | None
    types: tuple[str, ...]
    type: Any
    name: str
    default: Any


class Struct:
    """Fields in byte order. `nullable` structs begin with a presence byte (flexible versions only)."""

    __slots__ = ("_steps", "fields", "names", "nullable", "tagged")

    def __init__(self, fields: tuple[Field, ...], nullable: bool = False) -> None:
        self.fields = fields
        self.nullable = nullable
        self.names = [field.name for field in fields]
        self.tagged = {field.tag: (position, field) for position, field in enumerate(fields) if field.tag is not None}
        self._steps: dict[int, list[Step]] = {}

    def steps(self, version: int) -> list[Step]:
        """Return all fields in order. Consecutive numbers are one step, which halves the time of a record."""
        steps = self._steps.get(version)
        if steps is None:
            steps = self._steps[version] = _steps_of(self.fields, version)
        return steps


def _steps_of(fields: tuple[Field, ...], version: int) -> list[Step]:
    steps: list[Step] = []
    for field in fields:
        is_present = field.tag is None and field.since <= version <= field.until
        if not is_present or not isinstance(field.type, str) or field.type not in FIXED:
            steps.append(Step(None, (), field.type if is_present else None, field.name, field.default))
            continue
        previous = steps.pop() if steps and steps[-1].numbers is not None else None
        types = (*(previous.types if previous is not None else ()), field.type)
        formats = "".join(FIXED[name].format[1:] for name in types)
        steps.append(Step(packing.Struct(">" + formats), types, None, field.name, None))
    return steps


class Layout(NamedTuple):
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


class TopicLayouts(NamedTuple):
    """Keys and values of a topic's records by record type."""

    keys: dict[int, Struct]
    values: dict[int, tuple[Layout, ...]]


def struct(*fields: Field, nullable: bool = False) -> Struct:
    return Struct(fields, nullable)
