"""Incremental fetch sessions: the broker remembers what a client fetches, so that both sides send only changes.

Each node has a cache of sessions, divided into shards used in turn: a full shard rejects a session, or evicts one.
Source: KIP-227; Kafka's `FetchManager`, `FetchSession`, `FetchSessionCacheShard`.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from kohort.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from kohort.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData
    from kohort.storage.topic import Partition, Topic
    from kohort.storage.topics import Topics

# Version of Fetch from which topics are identified by ids. A session keeps the form that it began with.
TOPIC_IDS_FROM = 13

NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1  # Epochs of full requests: they begin a session; or they end one or have none.

SHARDS = 8
IDS_OF_A_SHARD = (2**31 - 1) // SHARDS
EVICTION_MS = 120_000
"""A session unused for longer may be evicted for any other one; one younger than this not even for a larger one
(`MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`, which cannot be configured in Kafka).
"""

# Maximum number of partitions in all sessions of a node: about 20 MB. Kafka has no such limit.
PARTITIONS_REMEMBERED = 50_000

_LARGEST_EPOCH = 2**31 - 1


class SessionTopic:
    """A topic of a session: by name, or by an id whose name is kept once it is known, as in Kafka."""

    __slots__ = ("name", "partitions", "topic", "topic_id")

    def __init__(self, name: str, topic_id: UUID | None) -> None:
        self.name = name
        self.topic_id = topic_id
        # topic with that name at the last lookup; its id differs from the requested one if it was recreated
        self.topic: Topic | None = None
        self.partitions = 0  # number of its partitions in the session

    @property
    def made_anew(self) -> bool:
        """Whether the topic was recreated, so that name and id identify different topics."""
        return self.topic_id is not None and self.topic is not None and self.topic.topic_id != self.topic_id

    def resolve(self, topics: Topics) -> bool:
        if not self.name and (topic_of_id := topics.by_id(self.topic_id)) is not None:
            self.name = topic_of_id.name
        topic = topics.by_name(self.name) if self.name else None
        changed = topic is not self.topic
        self.topic = topic
        return changed


class SessionPartition:
    """A partition of a session: what is requested, and what its client received last (Kafka: `CachedPartition`)."""

    __slots__ = ("high_watermark", "log_start_offset", "part", "partition", "topic")

    def __init__(self, topic: SessionTopic, part: FetchPartition) -> None:
        self.topic = topic
        self.part = part
        self.partition: Partition | None = None  # the partition if it exists, set by `FetchSession.resolve`
        self.high_watermark = -1
        self.log_start_offset = -1

    def is_news(self, data: PartitionData) -> bool:
        """Return whether the response must contain `data`, and remember it as sent.

        An error is sent as long as it lasts.
        """
        news = bool(data.records) or data.error_code != ErrorCode.none or data.diverging_epoch is not None
        if data.high_watermark != self.high_watermark:
            self.high_watermark = data.high_watermark
            news = True
        if data.log_start_offset != self.log_start_offset:
            self.log_start_offset = data.log_start_offset
            news = True
        return news


class FetchSession:
    """The partitions that one client fetches, in the order in which they are read."""

    __slots__ = (
        "_topics",
        "by_id",
        "created_at_ms",
        "epoch",
        "evictable",
        "id",
        "last_used_ms",
        "partitions",
        "size",
    )

    def __init__(self, *, by_id: bool) -> None:
        self.id = NO_SESSION
        self.by_id = by_id  # whether topics are identified by ids
        self.epoch = 1  # epoch that the next request must have
        self.partitions: dict[tuple[str | UUID | None, int], SessionPartition] = {}
        self._topics: dict[str | UUID | None, SessionTopic] = {}
        self.created_at_ms = self.last_used_ms = 0
        self.size = 0
        # The number of its partitions, and whether a larger session may evict it, as of its last use.
        self.evictable = False

    def update(self, request: FetchRequest) -> None:
        for requested in request.topics:
            key = requested.topic_id if self.by_id else requested.topic
            for part in requested.partitions:
                cached = self.partitions.get((key, part.partition))
                if cached is not None:
                    cached.part = part
                    continue
                topic = self._topics.get(key)
                if topic is None:
                    topic = self._topics[key] = SessionTopic(
                        requested.topic, requested.topic_id if self.by_id else None
                    )
                topic.partitions += 1
                self.partitions[key, part.partition] = SessionPartition(topic, part)
        for forgotten in () if request.session_epoch == INITIAL_EPOCH else request.forgotten_topics_data:
            key = forgotten.topic_id if self.by_id else forgotten.topic
            for index in forgotten.partitions:
                self._forget(key, index)

    def _forget(self, key: str | UUID | None, index: int) -> None:
        removed = self.partitions.pop((key, index), None)
        if removed is not None:
            removed.topic.partitions -= 1
            if not removed.topic.partitions:
                del self._topics[key]

    def resolve(self, topics: Topics) -> None:
        """Look up the partitions. Costs a lookup for each topic, and one for each unknown partition."""
        changed = {session_topic for session_topic in self._topics.values() if session_topic.resolve(topics)}
        for cached in self.partitions.values():
            if cached.partition is None or (changed and cached.topic in changed):
                topic = cached.topic.topic
                cached.partition = None if topic is None else topic.partition(cached.part.partition)

    def is_up_to_date(self, topics: Topics) -> bool:
        return all(
            topics.by_name(session_topic.name) is session_topic.topic and not session_topic.made_anew
            for session_topic in self._topics.values()
        )

    def put_last(self, cached: SessionPartition) -> None:
        """Move a partition whose records are returned behind the others."""
        key = (cached.topic.topic_id if self.by_id else cached.topic.name, cached.part.partition)
        if self.partitions.pop(key, None) is not None:
            self.partitions[key] = cached

    def end_epoch(self) -> None:
        self.epoch = self.epoch + 1 if self.epoch < _LARGEST_EPOCH else 1


class FetchSessions:
    """The sessions of a node."""

    __slots__ = ("_next_shard", "_random", "_remembered", "_room", "_shards")

    def __init__(self, slots: int, random: Random) -> None:
        """Create an empty cache.

        Args:
            slots: `max.incremental.fetch.session.cache.slots`. Each shard has an eighth, rounded down, as in Kafka.
        """
        self._room = slots // SHARDS
        self._random = random
        self._shards: list[dict[int, FetchSession]] = [{} for _ in range(SHARDS)]
        self._next_shard = 0
        self._remembered = 0  # the partitions of all sessions, as of their last use

    def __len__(self) -> int:
        return sum(map(len, self._shards))

    def find(self, session_id: int, epoch: int, *, by_id: bool) -> FetchSession | ErrorCode:
        """Return the session of a request, or the error.

        FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR, in Kafka's order; and
        UNKNOWN_SERVER_ERROR for ids beyond every shard, for which Kafka's lookup fails.
        """
        shard = self._shard_of(session_id)
        if shard is None:
            return ErrorCode.unknown_server_error
        session = shard.get(session_id)
        if session is None:
            return ErrorCode.fetch_session_id_not_found
        if session.epoch != epoch:
            return ErrorCode.invalid_fetch_session_epoch
        if session.by_id != by_id:
            return ErrorCode.fetch_session_topic_id_error
        return session

    def add(self, session: FetchSession, now_ms: int) -> None:
        """Give a new session an id if there is a free slot, or a session to evict; otherwise it keeps NO_SESSION."""
        number = self._next_shard
        self._next_shard = (number + 1) % SHARDS
        shard = self._shards[number]
        if len(shard) >= self._room:
            evicted = _evictable(shard, len(session.partitions), now_ms)
            if evicted is None:
                return
            self._forget(shard, evicted)
        lowest = max(1, number * IDS_OF_A_SHARD)
        while session.id == NO_SESSION or session.id in shard:
            session.id = self._random.randrange(lowest, (number + 1) * IDS_OF_A_SHARD)
        session.created_at_ms = now_ms
        shard[session.id] = session
        self.use(session, now_ms)
        if session.id not in shard:
            session.id = NO_SESSION

    def use(self, session: FetchSession, now_ms: int) -> None:
        """Note the use of a session. If all sessions together are too large, the largest one is removed."""
        session.last_used_ms = now_ms
        self._remembered += len(session.partitions) - session.size
        session.size = len(session.partitions)
        session.evictable = now_ms - session.created_at_ms > EVICTION_MS
        if self._remembered > PARTITIONS_REMEMBERED:
            for shard in self._shards:
                for stale in [stale for stale in shard.values() if now_ms - stale.last_used_ms > EVICTION_MS]:
                    self._forget(shard, stale)
        while self._remembered > PARTITIONS_REMEMBERED:
            # Not necessarily the session that was used: no client may prevent others from having one.
            sessions = [other for shard in self._shards for other in shard.values()]
            self.remove(max(sessions, key=lambda other: (other.size, other is session)).id)

    def _forget(self, shard: dict[int, FetchSession], session: FetchSession | None) -> None:
        if session is not None:
            self._remembered -= session.size
            del shard[session.id]

    def remove(self, session_id: int) -> ErrorCode:
        """Remove a session if it exists. Return UNKNOWN_SERVER_ERROR as `find` does."""
        shard = self._shard_of(session_id)
        if shard is None:
            return ErrorCode.unknown_server_error
        self._forget(shard, shard.get(session_id))
        return ErrorCode.none

    def clear(self) -> None:
        for shard in self._shards:
            shard.clear()
        self._remembered = 0

    def _shard_of(self, session_id: int) -> dict[int, FetchSession] | None:
        number = abs(session_id) // IDS_OF_A_SHARD
        if session_id < 0:
            number = -number  # division as in Java; small negative ids map to shard 0, where they are not found
        return self._shards[number] if 0 <= number < SHARDS else None


def _evictable(shard: dict[int, FetchSession], size: int, now_ms: int) -> FetchSession | None:
    """Return the session to evict for one of `size` partitions: one that is stale, or old enough and smaller."""
    if not shard:
        return None
    candidate = min(shard.values(), key=lambda session: (session.last_used_ms, session.id))
    if now_ms - candidate.last_used_ms <= EVICTION_MS:
        evictable = [session for session in shard.values() if session.evictable]
        if not evictable:
            return None
        candidate = min(evictable, key=lambda session: (session.size, session.id))
        if size <= candidate.size:
            return None
    return candidate
