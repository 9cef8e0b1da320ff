"""Writes a long response in slices, with the same bytes as kio."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import fields, is_dataclass, replace
from io import BytesIO
from typing import Any, get_args, get_origin

from kohort.protocol.conversion import from_shape, names_of_pairs, without_none
from kohort.protocol.lean_kio import entity_writer

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


class StepWriter:
    """Writes values of one shape as one of kio's entities."""

    def __init__(self, entity: type, shape: type) -> None:
        self._put: Callable[[BytesIO, Any], None] = entity_writer(entity)
        self._convert = from_shape(shape, entity)
        theirs = {member.name: member for member in fields(entity)}
        ours = {member.name: member for member in fields(shape)}
        # For each array of structures: the shape's field name, kio's, and the element writer. Tagged ones are short.
        self._arrays: list[tuple[str, str, StepWriter]] = []
        for name, kio in names_of_pairs(entity, shape).items():
            inner = _element(theirs[kio].type)
            if inner is not None and "tag" not in theirs[kio].metadata:
                self._arrays.append((name, kio, StepWriter(inner, _element(ours[name].type))))

    def put(self, buffer: BytesIO, value: Any) -> None:
        """Write `value` in one slice."""
        self._put(buffer, self._convert(value))

    def is_short(self, value: Any) -> bool:
        """Return whether `value` can be written in one slice."""
        return self._weigh(value, 0) <= SHORT

    def put_in_steps(self, buffer: BytesIO, value: Any) -> Steps:
        """Write `value`, yielding after every element of its arrays or after several short ones."""
        shell = self._convert(replace(value, **{name: () for name, _, _ in self._arrays}))
        scratch = BytesIO()
        arrays: list[tuple[_Array, StepWriter]] = []
        for name, kio, writer in self._arrays:
            elements = getattr(value, name)
            array = None if elements is None else _Array(elements, scratch)
            object.__setattr__(shell, kio, array)  # kio's objects are frozen
            if array is not None:
                arrays.append((array, writer))
        self._put(scratch, shell)
        around, at = scratch.getbuffer(), 0
        for array, writer in arrays:
            buffer.write(around[at : array.at])
            at = array.at
            for element in array.elements:
                if writer.is_short(element):
                    writer.put(buffer, element)
                else:
                    yield from writer.put_in_steps(buffer, element)
                yield
        buffer.write(around[at:])

    def _weigh(self, value: Any, weight: int) -> int:
        """Add the number of elements in all arrays of `value` to `weight`; stops counting above SHORT."""
        for name, _, writer in self._arrays:
            elements = getattr(value, name)
            if elements:
                weight += len(elements)
                if writer._arrays:
                    for element in elements:
                        if weight > SHORT:
                            return weight
                        weight = writer._weigh(element, weight)
        return weight


def _element(hint: Any) -> Any:
    """Return the class of an array's elements if they are structures."""
    hint = without_none(hint)
    if get_origin(hint) is tuple and is_dataclass(inner := without_none(get_args(hint)[0])):
        return inner
    return None
