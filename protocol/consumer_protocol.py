"""The consumer's data in JoinGroup and SyncGroup: subscription and assignment of protocol type `consumer`.

Both are opaque to the broker, apart from the topics. Each starts with its own version; newer versions than known are
read with the newest layout, because fields are only ever appended.

Bytes can be malformed in two ways, which Kafka's reader, and hence its coordinator, treats differently. If they end
early, the result is unknown (None); if a length exceeds the remaining bytes, `ImpossibleLengthError` is raised.
Source: Kafka's ConsumerProtocol (deserializeSubscription catches BufferUnderflowException only).

Kafka reads as much as a request can contain. Here MAX_TOPICS and MAX_PARTITIONS are the limit, so that no member blocks
the coordinator for long; larger data is unknown.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from struct import Struct, error, unpack_from

from kohort.protocol.shape import shape
from kohort.protocol.wire import INT, SHORT, four_bytes, string

NEWEST = 3

MAX_TOPICS = 50_000  # topics of a subscription or assignment, including duplicates

MAX_PARTITIONS = 200_000  # partitions of a subscription or assignment


class ImpossibleLengthError(Exception):
    """A length that is negative although null is invalid, or beyond the end. Kafka does not handle it."""


@shape
class Subscription:
    """A member's subscription."""

    version: int = NEWEST
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # from v1 on (KIP-429)
    generation_id: int = -1  # from v2 on (KIP-792)
    rack_id: str | None = None  # from v3 on (KIP-881)


@shape
class Assignment:
    """A member's assignment. All versions have the same layout."""

    version: int = NEWEST
    partitions: Mapping[str, tuple[int, ...]]
    user_data: bytes | None = None


def subscribed_topics(metadata: bytes) -> frozenset[str] | None:
    """Return the topics of a subscription as Kafka's coordinator reads it, without the fields after the user data.

    Source: Kafka's ClassicGroup, computeSubscribedTopics (always reads version 0).

    Returns:
        None if the bytes end early or the limit is exceeded.

    Raises:
        ImpossibleLengthError: A length is invalid.
    """
    try:
        cursor = _Cursor(metadata)
        cursor.two()
        topics = cursor.topics()
        cursor.nullable_bytes()
    except error:
        return None
    return frozenset(topics)


def read_subscription(metadata: bytes) -> Subscription | None:
    """Read a complete subscription, or None if the bytes end early or a limit is exceeded.

    Raises:
        ImpossibleLengthError: A length is invalid.
    """
    try:
        cursor = _Cursor(metadata)
        version = cursor.two()
        return (
            None
            if version < 0
            else Subscription(
                version=version,
                topics=cursor.topics(),
                user_data=cursor.nullable_bytes(),
                owned_partitions=cursor.partitions() if version >= 1 else {},
                generation_id=cursor.four() if version >= 2 else -1,
                rack_id=cursor.nullable_string() if version >= 3 else None,
            )
        )
    except error:
        return None


def subscription_version(metadata: bytes) -> int | None:
    """Return the version of a subscription, at most the newest known one, or None if it has none.

    Source: Kafka's ConsumerProtocol, deserializeVersion.
    """
    if len(metadata) < SHORT.size:
        return None
    version: int = SHORT.unpack_from(metadata)[0]
    return None if version < 0 else min(version, NEWEST)


def read_assignment(assignment: bytes) -> Assignment | None:
    """Read an assignment, or return None if the bytes end early or a limit is exceeded.

    The assignment of a member without partitions can be empty, which ends early.
    """
    try:
        cursor = _Cursor(assignment)
        version = cursor.two()
        if version < 0:
            return None
        return Assignment(version=version, partitions=cursor.partitions(), user_data=cursor.nullable_bytes())
    except error:
        return None


def assigned_partitions(assignment: bytes) -> Mapping[str, tuple[int, ...]] | None:
    """Return the partitions of an assignment by topic, or None if it cannot be read. No bytes mean no partitions."""
    if not assignment:
        return {}
    try:
        read = read_assignment(assignment)
    except ImpossibleLengthError:
        return None
    return None if read is None else read.partitions


def write_subscription(subscription: Subscription) -> bytes:
    version = subscription.version
    parts = [SHORT.pack(version), _array(map(string, subscription.topics)), four_bytes(subscription.user_data)]
    if version >= 1:
        parts.append(_partitions(subscription.owned_partitions))
    if version >= 2:
        parts.append(INT.pack(subscription.generation_id))
    if version >= 3:
        parts.append(string(subscription.rack_id))
    return b"".join(parts)


def write_assignment(assignment: Assignment) -> bytes:
    return SHORT.pack(assignment.version) + _partitions(assignment.partitions) + four_bytes(assignment.user_data)


def _array(elements: Iterable[bytes]) -> bytes:
    parts = list(elements)
    return b"".join((INT.pack(len(parts)), *parts))


def _partitions(partitions: Mapping[str, tuple[int, ...]]) -> bytes:
    return _array(string(topic) + _array(map(INT.pack, numbers)) for topic, numbers in partitions.items())


class _Cursor:
    """Reads sequentially. struct.error: the data ends early or exceeds a limit.

    ImpossibleLengthError: a length is invalid.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._topics_left = MAX_TOPICS
        self._partitions_left = MAX_PARTITIONS

    def two(self) -> int:
        return self._fixed(SHORT)

    def four(self) -> int:
        return self._fixed(INT)

    def string(self) -> str:
        return self._piece(self._length(SHORT)).decode(errors="replace")

    def nullable_string(self) -> str | None:
        length = self.two()
        return None if length < 0 else self._piece(length).decode(errors="replace")

    def nullable_bytes(self) -> bytes | None:
        length = self.four()
        return None if length < 0 else self._piece(length)

    def topics(self) -> tuple[str, ...]:
        return tuple(self.string() for _ in range(self._topic_count()))

    def partitions(self) -> dict[str, tuple[int, ...]]:
        """Read partitions by topic. Duplicate topics are merged."""
        partitions: dict[str, list[int]] = {}
        for _ in range(self._topic_count()):
            partitions.setdefault(self.string(), []).extend(self._numbers())
        return {topic: tuple(numbers) for topic, numbers in partitions.items()}

    def _numbers(self) -> tuple[int, ...]:
        count = self._count()
        self._partitions_left -= count
        if self._partitions_left < 0:
            raise error(f"more than {MAX_PARTITIONS} partitions")
        numbers = unpack_from(f">{count}i", self._data, self._at)
        self._at += INT.size * count
        return numbers

    def _topic_count(self) -> int:
        count = self._count()
        self._topics_left -= count
        if self._topics_left < 0:
            raise error(f"more than {MAX_TOPICS} topics")
        return count

    def _count(self) -> int:
        count = self._length(INT)
        if count > len(self._data) - self._at:
            raise ImpossibleLengthError(f"{count} elements in {len(self._data) - self._at} bytes")
        return count

    def _fixed(self, form: Struct) -> int:
        (value,) = form.unpack_from(self._data, self._at)
        self._at += form.size
        return value  # type: ignore[no-any-return]

    def _length(self, form: Struct) -> int:
        length = self._fixed(form)
        if length < 0:
            raise ImpossibleLengthError(f"a length of {length}")
        return length

    def _piece(self, length: int) -> bytes:
        if length > len(self._data) - self._at:
            raise ImpossibleLengthError(f"{length} bytes where {len(self._data) - self._at} are left")
        self._at += length
        return self._data[self._at - length : self._at]
