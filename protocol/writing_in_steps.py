"""Writes a long response in slices, with the same bytes as kio."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import fields, is_dataclass, replace
from io import BytesIO
from struct import pack
from typing import Any, Final, cast, get_args, get_origin

from kohort.protocol.conversion import from_shape, names_of_pairs, without_none
from kohort.protocol.lean_kio import entity_writer, primitive_writer

Steps = Generator[None, None, Any]  # work that can be interrupted at every `yield`

SHORT = 32  # maximum elements per slice


class _Array(tuple[object, ...]):
    """Replaces a long array: kio writes its count and then its elements, which are written later."""

    def __new__(cls, elements: tuple[Any, ...], buffer: BytesIO) -> "_Array":
        array = super().__new__(cls, elements)
        array.elements, array.buffer = elements, buffer
        return array

    elements: tuple[Any, ...]
    buffer: BytesIO
    at = 0  # position of the elements in `buffer`

    def __iter__(self) -> Iterator[object]:
        self.at = self.buffer.tell()
        return iter(())


WORTH_COPYING = 8
"""Arrays of this many structures are copied where they are repeated, even in an element that is short."""

Spans = dict[int, tuple[int, int] | None]
"""Where in the buffer elements and arrays have been written, by their identity; None: seen in a short element.

The response keeps them alive.
"""


class StepWriter:
    """Writes values of one shape as one of kio's entities."""

    is_structure: Final = True

    def __init__(self, entity: type, shape: type) -> None:
        self._put: Callable[[BytesIO, Any], None] = entity_writer(entity)
        self._convert = from_shape(shape, entity)
        theirs = {member.name: member for member in fields(entity)}
        ours = {member.name: member for member in fields(shape)}
        self._arrays: list[tuple[str, str, StepWriter | _PlainWriter]] = []
        """For each array: our name, kio's, and what writes an element. Tagged ones are short."""
        self._structures: list[tuple[str, str, StepWriter]] = []
        """For each structure that is not an element of an array: our name, kio's, and its writer."""
        for name, kio in names_of_pairs(entity, shape).items():
            field, hint = theirs[kio], without_none(theirs[kio].type)
            if "tag" in field.metadata:
                continue
            inner = _element(hint)
            if inner is not None:
                self._arrays.append((name, kio, StepWriter(inner, _element(ours[name].type))))
            elif is_dataclass(hint):
                writer = StepWriter(cast(type, hint), without_none(ours[name].type))
                if writer._arrays or writer._structures:
                    self._structures.append((name, kio, writer))
            elif get_origin(hint) is tuple and field.metadata["kafka_type"] in _PlainWriter.TYPES:
                plain = _PlainWriter(field.metadata["kafka_type"], flexible=entity.__flexible__)  # type: ignore[attr-defined]
                self._arrays.append((name, kio, plain))

        self._plain_names = [name for name, _, writer in self._arrays if not writer.is_structure]
        self._is_leaf = len(self._plain_names) == len(self._arrays) and not self._structures

    def _is_light(self, value: Any) -> bool:
        """Return whether the arrays of a structure without other structures are short."""
        for name in self._plain_names:
            elements = getattr(value, name)
            if elements is not None and len(elements) > _PlainWriter.AT_ONCE:
                return False
        return True

    def put(self, buffer: BytesIO, value: Any) -> None:
        self._put(buffer, self._convert(value))

    def is_short(self, value: Any) -> bool:
        """Return whether `value` may be written at once."""
        return self._weigh(value, 0) <= SHORT

    def put_in_steps(self, buffer: BytesIO, value: Any, spans: Spans | None = None) -> Steps:
        """Write `value`, and yield after every element of its arrays, or after several short ones.

        An element or an array that is in `value` more than once is written once, and copied.
        """
        spans = {} if spans is None else spans
        shell = self._convert(self._emptied(value))
        scratch = BytesIO()
        arrays: list[tuple[_Array, StepWriter | _PlainWriter]] = []
        self._mark(value, shell, scratch, arrays)
        self._put(scratch, shell)
        around, at = scratch.getbuffer(), 0
        for array, writer in sorted(arrays, key=_position):
            buffer.write(around[at : array.at])
            at = array.at
            if not _copies(buffer, array.elements, spans):
                start = buffer.tell()
                yield from writer.put_elements(buffer, array.elements, spans)
                spans[id(array.elements)] = start, buffer.tell()
        buffer.write(around[at:])

    def put_elements(self, buffer: BytesIO, elements: tuple[Any, ...], spans: Spans) -> Steps:
        if self._is_leaf:
            for element in elements:  # as quick as possible: most elements of most responses
                if self._is_light(element):
                    self.put(buffer, element)
                else:
                    yield from self.put_in_steps(buffer, element, spans)
                yield
            return
        for element in elements:
            if not _copies(buffer, element, spans):
                start = buffer.tell()
                if self.is_short(element) and not self._repeats(element, spans):
                    self.put(buffer, element)
                else:
                    yield from self.put_in_steps(buffer, element, spans)
                spans[id(element)] = start, buffer.tell()
            yield

    def _repeats(self, element: Any, spans: Spans) -> bool:
        """Return whether a long array of `element` was in another one before."""
        for name, _, writer in self._arrays:
            if writer.is_structure:
                elements = getattr(element, name)
                if elements is not None and len(elements) >= WORTH_COPYING:
                    if id(elements) in spans:
                        return True
                    spans[id(elements)] = None
        return False

    def _emptied(self, value: Any) -> Any:
        changes: dict[str, Any] = {name: () for name, _, _ in self._arrays}
        for name, _, writer in self._structures:
            inner = getattr(value, name)
            if inner is not None:
                changes[name] = writer._emptied(inner)
        return replace(value, **changes)

    def _mark(
        self, value: Any, shell: Any, scratch: BytesIO, arrays: "list[tuple[_Array, StepWriter | _PlainWriter]]"
    ) -> None:
        """Put marks in the place of the arrays that `shell`, kio's entity, lacks."""
        for name, kio, writer in self._arrays:
            elements = getattr(value, name)
            array = None if elements is None else _Array(elements, scratch)
            object.__setattr__(shell, kio, array)  # kio's objects are frozen
            if array is not None:
                arrays.append((array, writer))
        for name, kio, inner_writer in self._structures:
            inner = getattr(value, name)
            if inner is not None:
                inner_writer._mark(inner, getattr(shell, kio), scratch, arrays)

    def _weigh(self, value: Any, weight: int) -> int:
        """Return `weight` and the number of elements in all arrays of `value`; stop counting above SHORT."""
        for name, _, writer in self._arrays:
            elements = getattr(value, name)
            if elements:
                weight = writer.weigh_elements(elements, weight)
        for name, _, inner_writer in self._structures:
            inner = getattr(value, name)
            if inner is not None:
                weight = inner_writer._weigh(inner, weight)
        return weight

    def weigh_elements(self, elements: tuple[Any, ...], weight: int) -> int:
        """Return `weight` and the number of these elements, and of those in their arrays."""
        weight += len(elements)
        if self._arrays or self._structures:  # at most SHORT elements are looked at
            for element in elements:
                if weight > SHORT:
                    return weight
                weight = self._weigh(element, weight)
        return weight


class _PlainWriter:
    """Writes elements of primitive types."""

    is_structure: Final = False

    TYPES: Final = frozenset(("int32", "string", "uuid"))
    """Kafka's types of elements of which a response may have many."""

    AT_ONCE: Final = 512
    """Elements that are written in one step."""

    EQUAL_TO_ONE: Final = 16
    """This many cost as much as a structure."""

    def __init__(self, kafka_type: str, *, flexible: bool) -> None:
        self._is_int32 = kafka_type == "int32"
        self._put = primitive_writer(kafka_type, flexible=flexible)

    def put_elements(self, buffer: BytesIO, elements: tuple[Any, ...], spans: Spans) -> Steps:
        for start in range(0, len(elements), self.AT_ONCE):
            some = elements[start : start + self.AT_ONCE]
            if self._is_int32:
                buffer.write(pack(f">{len(some)}i", *some))
            else:
                for element in some:
                    self._put(buffer, element)
            yield

    def weigh_elements(self, elements: tuple[Any, ...], weight: int) -> int:
        return weight + len(elements) // self.EQUAL_TO_ONE


def _position(array: "tuple[_Array, object]") -> int:
    return array[0].at


def _copies(buffer: BytesIO, part: object, spans: Spans) -> bool:
    """Write what was written for the same object before. Return whether it was."""
    span = spans.get(id(part))
    if span is None:
        return False
    written = bytes(buffer.getbuffer()[span[0] : span[1]])
    buffer.write(written)
    return True


def _element(hint: Any) -> Any:
    """Return the class of an array's elements if they are structures."""
    hint = without_none(hint)
    if get_origin(hint) is tuple and is_dataclass(inner := without_none(get_args(hint)[0])):
        return inner
    return None
