"""One `Message` per API: how its requests are read and its responses written, in every version.

kio knows the bytes of each version; a message's shape is the same for all of them. What kio has for a version is looked
up, and the way to our shape compiled, when that version is first met.
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
    entity_module,
    entity_reader,
    entity_writer,
)
from kohort.protocol.wire import INT, SHORT, string
from kohort.protocol.writing_in_steps import StepWriter

RequestT = TypeVar("RequestT")
ResponseT = TypeVar("ResponseT")

Frame = bytes | list[bytes | memoryview]
"""A whole frame, in one piece or in several that follow one another."""

API_VERSIONS: Final = 18
"""Its API key. Whatever its version, the header of its answer is the oldest one, so that every client can read it."""

MAX_ANSWER_ELEMENTS: Final = 2_000_000
"""Array elements that a broker's answer may hold: the partitions of the largest clusters are a tenth of it."""

_MENDABLE: Final = (KeyError, ValueError, InvalidUnicode, NegativeByteLength)
"""What kio raises for bytes that Kafka takes; the first: a tagged field that kio does not know."""


class ResponseTooLargeError(Exception):
    """A response has more bytes than it may have."""


class Older(NamedTuple):
    """A form that versions up to `last_version` had, and how it and the newest one become each other."""

    last_version: int
    shape: type
    to_newest: Callable[[Any], Any]
    from_newest: Callable[[Any], Any]


class Message(Generic[RequestT, ResponseT]):
    """Reads requests and writes responses of one API.

    write_by_hand: for replies that have to be fast. Called once per version, gives the function that makes a whole
    frame of a correlation id and a response.

    small: whether that is so quick. None: always, as such a response is about as large as its request.
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
        self.readers: dict[int, Callable[[bytes, int, int], RequestT]] = {}
        """What `read` calls, by version, where one has been met."""
        self.writers: dict[int, Callable[[int, ResponseT], Frame]] = {}
        """What `write` calls, likewise."""
        self._step_writers: dict[int, tuple[StepWriter, Callable[[Any], Any] | None]] = {}

    def read(self, version: int, frame: bytes, offset: int, max_elements: int = MAX_ELEMENTS) -> RequestT:
        """The request whose body starts at `offset`. Bytes after its end are not looked at.

        max_elements: array elements and tagged fields it may hold, all in all; only looked at in frames of more bytes
        than SHORT_FRAME. Raises DecodeError for whatever cannot be read, versions that are not served included.
        """
        try:
            reader = self.readers[version]
        except KeyError:
            reader = self.prepare(version)
        return reader(frame, offset, max_elements)

    def prepare(self, version: int) -> Callable[[bytes, int, int], RequestT]:
        """Makes what `read` needs for a version, which takes milliseconds. Raises DecodeError if it is not served."""
        reader = self.readers[version] = self._reader(version)
        return reader

    def write(self, version: int, correlation_id: int, response: ResponseT) -> Frame:
        """The whole frame of a response: length, header and body. Fields that the version lacks are left out."""
        writer = self.writers.get(version)
        if writer is None:
            make = self._write_by_hand or self.writer_by_kio
            writer = self.writers[version] = make(version)
        return writer(correlation_id, response)

    def write_in_steps(
        self, version: int, correlation_id: int, response: ResponseT, most_bytes: int
    ) -> Generator[None, None, Frame]:
        """`write` a little at a time. Raises ResponseTooLargeError for a frame of more than `most_bytes`."""
        known = self._step_writers.get(version)
        if known is None:
            known = self._step_writers[version] = self._step_writer(version)
        writer, to_older = known
        older = response if to_older is None else to_older(response)
        if writer.is_short(older) and (self._small is None or self._small(response)):
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
        """Whether `write` takes no time worth mentioning."""
        if self._write_by_hand is not None:
            return self._small is None or self._small(response)
        known = self._step_writers.get(version)
        if known is None:
            known = self._step_writers[version] = self._step_writer(version)
        writer, to_older = known
        try:
            return writer.is_short(response if to_older is None else to_older(response))
        except Exception:
            return True  # writing it will fail, and say why

    def _step_writer(self, version: int) -> tuple[StepWriter, Callable[[Any], Any] | None]:
        entity, older = self.entity(version, EntityType.response), self._older[self.response]
        if older is None or version > older.last_version:
            return StepWriter(entity, self.response), None
        return StepWriter(entity, older.shape), older.from_newest

    def _response_tags(self, version: int) -> bytes:
        """The empty tagged fields of a response's header, in versions that have them."""
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
        """What writes responses of `version` where nothing faster was made by hand."""
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
        """The frame of a request without its length bytes, as `read_header` and `read` take it. For tests."""
        entity = self.entity(version, EntityType.request)
        buffer = BytesIO()
        buffer.write(SHORT.pack(self.api.key) + SHORT.pack(version) + INT.pack(correlation_id) + string(client_id))
        if version >= self.api.first_flexible:
            buffer.write(b"\x00")
        entity_writer(entity)(buffer, self._from_newest(entity, version, self.request)(request))
        return buffer.getvalue()

    def read_response(self, version: int, frame: bytes) -> tuple[int, ResponseT]:
        """Correlation id and response of a frame without its length bytes. For tests: trusts the bytes."""
        entity = self.entity(version, EntityType.response)
        start = 4 + (version >= self.api.first_flexible and self.api.key != API_VERSIONS)
        response, size = entity_reader(entity)(frame, start)
        if start + size != len(frame):
            raise DecodeError(f"{len(frame) - start - size} bytes too many")
        return INT.unpack_from(frame)[0], self.to_newest(version)(response)

    def read_answer(self, version: int, frame: bytes) -> tuple[int, ResponseT]:
        """Like `read_response`, of a broker that may be anybody. Raises DecodeError for what is no such response.

        A count that nobody has looked at would let kio ask for more memory than there is, which ends the process.
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
        """kio's class for the whole request or response."""
        return _entity(self.api.name, version, kind)

    @property
    def written_by_hand(self) -> bool:
        """Whether responses are written by more than kio."""
        return self._write_by_hand is not None

    @property
    def always_short(self) -> bool:
        """Whether `is_short` holds for every response."""
        return self._write_by_hand is not None and self._small is None

    def to_newest(self, version: int) -> Callable[[Any], ResponseT]:
        """What makes our response of kio's. For tests."""
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
def _entity(api: str, version: int, kind: EntityType) -> Any:
    module = entity_module(api, version, kind.name)
    return next(c for c in vars(module).values() if getattr(c, "__type__", None) is kind)
