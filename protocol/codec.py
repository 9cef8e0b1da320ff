"""`Message`: reads requests and writes responses of an API, in every version.

kio knows the bytes of each version; a message's shape is the same in every version. kio's classes for a version are
looked up, and the conversion to the shape is compiled, when that version is first used.
"""

from collections.abc import Callable, Generator
from functools import cache
from io import BytesIO
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kio.static.constants import EntityType

from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.conversion import dress, from_shape, to_shape
from kohort.protocol.errors import DecodeError
from kohort.protocol.guard import MAX_ELEMENTS, SHORT_FRAME, Guard
from kohort.protocol.lean_kio import (
    InvalidUnicode,
    NegativeByteLength,
    entity_reader,
    entity_writer,
)
from kohort.protocol.newer_versions import kio_entity, newer_entity
from kohort.protocol.wire import INT, SHORT, string
from kohort.protocol.writing_in_steps import StepWriter

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")

Frame = bytes | list[bytes | memoryview]  # complete frame, in one or several pieces

API_VERSIONS: Final = 18  # API key. Its response header is always the oldest one, so that every client can read it.

# Array elements in a broker's response: ten times the partitions of the largest clusters.
MAX_ANSWER_ELEMENTS: Final = 2_000_000

# kio's errors for bytes that Kafka accepts; the first one is an unknown tagged field
_MENDABLE: Final = (KeyError, ValueError, InvalidUnicode, NegativeByteLength)


class ResponseTooLargeError(Exception):
    """A response exceeds the byte limit."""


class Older(NamedTuple):
    """A form that versions up to `last_version` have, and its conversion from and to the newest one."""

    last_version: int
    shape: type
    to_newest: Callable[[Any], Any]
    from_newest: Callable[[Any], Any]


class Message(Generic[RequestT, ResponseT]):
    """Reads requests and writes responses of one API.

    Args:
        write_by_hand: For responses that must be fast. Called once per version; returns the function that builds a
            complete frame from a correlation id and a response.
        small: Whether the function is fast for a response. None means always, because responses are about as large as
            their requests.
    """

    def __init__(
        self,
        name: str,
        request: type[RequestT],
        response: type[ResponseT],
        *,
        older_request: Older | None = None,
        older_response: Older | None = None,
        write_by_hand: Callable[[int], Callable[[int, ResponseT], Frame]] | None = None,
        small: Callable[[ResponseT], bool] | None = None,
    ) -> None:
        self.api = API_BY_NAME[name]
        self.request = request
        self.response = response
        self._older = {request: older_request, response: older_response}
        self._write_by_hand = write_by_hand
        self._small = small
        self.readers: dict[int, Callable[[bytes, int, int], RequestT]] = {}  # implementation of `read` by version
        self.writers: dict[int, Callable[[int, ResponseT], Frame]] = {}  # implementation of `write` by version
        self._step_writers: dict[int, tuple[StepWriter, Callable[[Any], Any] | None]] = {}

    def read(self, version: int, frame: bytes, offset: int, max_elements: int = MAX_ELEMENTS) -> RequestT:
        """Read the request whose body starts at `offset`. Bytes after its end are ignored.

        Args:
            max_elements: Maximum array elements and tagged fields; only checked in frames larger than SHORT_FRAME.

        Raises:
            DecodeError: The bytes are malformed, or the version is not supported.
        """
        try:
            reader = self.readers[version]
        except KeyError:
            reader = self.prepare(version)
        return reader(frame, offset, max_elements)

    def prepare(self, version: int) -> Callable[[bytes, int, int], RequestT]:
        """Return the reader for a version, which takes milliseconds to build.

        Raises:
            DecodeError: The version is not supported.
        """
        reader = self.readers[version] = self._reader(version)
        return reader

    def write(self, version: int, correlation_id: int, response: ResponseT) -> Frame:
        """Write a complete response frame: length, header and body. Fields that the version lacks are omitted."""
        writer = self.writers.get(version)
        if writer is None:
            make = self._write_by_hand or self.writer_by_kio
            writer = self.writers[version] = make(version)
        return writer(correlation_id, response)

    def write_in_steps(
        self, version: int, correlation_id: int, response: ResponseT, most_bytes: int
    ) -> Generator[None, None, Frame]:
        """Write a response in slices.

        Raises:
            ResponseTooLargeError: The frame exceeds `most_bytes`.
        """
        if self._small is not None and self._small(response):
            return self.write(version, correlation_id, response)
        step_writer = self._step_writers.get(version)
        if step_writer is None:
            step_writer = self._step_writers[version] = self._step_writer(version)
        writer, to_older = step_writer
        older = response if to_older is None else to_older(response)
        if self._small is None and writer.is_short(older):
            return self.write(version, correlation_id, response)
        buffer = BytesIO()
        buffer.write(bytes(4) + INT.pack(correlation_id) + self._response_tags(version))
        for _ in writer.put_in_steps(buffer, older):
            if buffer.tell() > most_bytes:
                raise ResponseTooLargeError(f"{self.api.name} v{version}: more than {most_bytes} bytes")
            yield
        frame = buffer.getbuffer()
        INT.pack_into(frame, 0, len(frame) - 4)
        return [frame]

    def is_short(self, version: int, response: ResponseT) -> bool:
        """Return whether `write` takes negligible time."""
        if self._write_by_hand is not None:
            return self._small is None or self._small(response)
        step_writer = self._step_writers.get(version)
        if step_writer is None:
            step_writer = self._step_writers[version] = self._step_writer(version)
        writer, to_older = step_writer
        try:
            return writer.is_short(response if to_older is None else to_older(response))
        except Exception:
            return True  # writing it raises the error

    def _step_writer(self, version: int) -> tuple[StepWriter, Callable[[Any], Any] | None]:
        entity, older = self.entity(version, EntityType.response), self._older[self.response]
        if older is None or version > older.last_version:
            return StepWriter(entity, self.response), None
        return StepWriter(entity, older.shape), older.from_newest

    def _response_tags(self, version: int) -> bytes:
        """Return the empty tagged fields of a response header, in versions that have them."""
        return b"\x00" if version >= self.api.first_flexible and self.api.key != API_VERSIONS else b""

    def _reader(self, version: int) -> Callable[[bytes, int, int], RequestT]:
        api = self.api
        if not max(api.min_version, api.readable_from) <= version <= api.max_version:
            raise DecodeError(f"{api.name} has no version {version}")
        entity = self.entity(version, EntityType.request)
        read = entity_reader(entity)
        guard = Guard(entity)
        quick = guard.quick
        older = self._older[self.request]
        convert = older.to_newest if older is not None and version <= older.last_version else None
        dress(entity, older.shape if convert and older else self.request)

        def reader(frame: bytes, offset: int, max_elements: int) -> RequestT:
            try:
                if len(frame) > SHORT_FRAME:
                    guard.check(frame, offset, max_elements)
                elif quick is not None:
                    quick(frame, offset, None)
                try:
                    request, _ = read(frame, offset)
                except _MENDABLE:
                    request, _ = read(guard.mended(frame, offset), offset)
            except DecodeError:
                raise
            except Exception as problem:
                raise DecodeError(f"{api.name} v{version}: {problem!r}") from problem
            return request if convert is None else convert(request)  # type: ignore[no-any-return]

        return reader

    def writer_by_kio(self, version: int) -> Callable[[int, ResponseT], Frame]:
        """Return kio's writer for a version, used if no faster one was written by hand."""
        entity = self.entity(version, EntityType.response)
        put = entity_writer(entity)
        convert = self._from_newest(entity, version, self.response)
        tags = self._response_tags(version)

        def writer(correlation_id: int, response: ResponseT) -> bytes:
            buffer = BytesIO()
            buffer.write(bytes(4) + INT.pack(correlation_id) + tags)
            put(buffer, convert(response))
            frame = buffer.getbuffer()
            INT.pack_into(frame, 0, len(frame) - 4)
            return bytes(frame)

        return writer

    def write_request(self, version: int, correlation_id: int, client_id: str | None, request: RequestT) -> bytes:
        """Write the frame of a request without its length, as `read_header` and `read` expect it. For tests."""
        entity = self.entity(version, EntityType.request)
        buffer = BytesIO()
        buffer.write(SHORT.pack(self.api.key) + SHORT.pack(version) + INT.pack(correlation_id) + string(client_id))
        if version >= self.api.first_flexible:
            buffer.write(b"\x00")
        entity_writer(entity)(buffer, self._from_newest(entity, version, self.request)(request))
        return buffer.getvalue()

    def read_response(self, version: int, frame: bytes) -> tuple[int, ResponseT]:
        """Read correlation id and response of a trusted frame without its length. For tests."""
        entity = self.entity(version, EntityType.response)
        start = 4 + (version >= self.api.first_flexible and self.api.key != API_VERSIONS)
        response, size = entity_reader(entity)(frame, start)
        if start + size != len(frame):
            raise DecodeError(f"{len(frame) - start - size} bytes too many")
        return INT.unpack_from(frame)[0], self.to_newest(version)(response)

    def read_answer(self, version: int, frame: bytes) -> tuple[int, ResponseT]:
        """Read the response of an untrusted broker like `read_response`.

        Without the check of counts kio could allocate more memory than there is, which ends the process.

        Raises:
            DecodeError: The bytes are malformed.
        """
        try:
            start = 4 + (version >= self.api.first_flexible and self.api.key != API_VERSIONS)
            Guard(self.entity(version, EntityType.response)).check(frame, start, MAX_ANSWER_ELEMENTS)
            return self.read_response(version, frame)
        except DecodeError:
            raise
        except Exception as problem:
            raise DecodeError(f"{self.api.name} v{version}: {problem!r}") from problem

    def entity(self, version: int, kind: EntityType) -> Any:
        return entity_of(self.api.name, version, kind)

    @property
    def written_by_hand(self) -> bool:
        """Whether responses have a hand-written writer."""
        return self._write_by_hand is not None

    @property
    def always_short(self) -> bool:
        """Whether `is_short` is true for every response."""
        return self._write_by_hand is not None and self._small is None

    def to_newest(self, version: int) -> Callable[[Any], ResponseT]:
        """Return the conversion of kio's response to the shape. For tests."""
        shape: type = self.response
        entity, older = self.entity(version, EntityType.response), self._older[shape]
        if older is None or version > older.last_version:
            return to_shape(entity, shape) or (lambda response: response)
        convert, to_newest = to_shape(entity, older.shape), older.to_newest
        return to_newest if convert is None else lambda value: to_newest(convert(value))

    def _from_newest(self, entity: type, version: int, shape: type) -> Callable[[Any], Any]:
        older = self._older[shape]
        if older is None or version > older.last_version:
            return from_shape(shape, entity)
        convert, from_newest = from_shape(older.shape, entity), older.from_newest
        return lambda value: convert(from_newest(value))


@cache
def entity_of(api: str, version: int, kind: EntityType) -> Any:
    """Return kio's class of a message, or ours if kio lacks the version."""
    return newer_entity(api, version, kind) or kio_entity(api, version, kind)
