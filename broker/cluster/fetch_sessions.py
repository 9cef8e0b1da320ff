"""Fetch sessions: what a client fetches is remembered between its requests, so that both sides name only what changed.

Each node has a cache of them, divided into shards that take turns: a full shard refuses, or evicts one of its own.
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

TOPIC_IDS_FROM = 13
"""The version of Fetch from which topics are named by their ids. A session stays with what it began with."""

NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
"""Epochs with which a client names everything it wants: to begin a session; to end one, or to have none."""

SHARDS = 8
IDS_OF_A_SHARD = (2**31 - 1) // SHARDS
EVICTION_MS = 120_000
"""A session unused for longer makes room for any other; one younger than this for no larger one
(`MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS`, which Kafka does not let anybody set)."""

PARTITIONS_REMEMBERED = 50_000
"""All sessions of a node together remember at most this many partitions: about 20 MB. Kafka has no such limit."""

_LARGEST_EPOCH = 2**31 - 1


class SessionTopic:
    """A topic of a session: by name, or by an id whose name is kept once it is known, as Kafka does."""

    __slots__ = ("name", "partitions", "topic", "topic_id")

    def __init__(self, name: str, topic_id: UUID | None) -> None:
        self.name = name
        self.topic_id = topic_id
        self.topic: Topic | None = None
        """What the name meant the last time. With another id than was asked for: the topic was made anew."""
        self.partitions = 0
        """How many partitions of it are in the session."""

    @property
    def made_anew(self) -> bool:
        """Whether the name stands for another topic than the id."""
        return self.topic_id is not None and self.topic is not None and self.topic.topic_id != self.topic_id

    def resolve(self, topics: Topics) -> bool:
        """Looks the topic up; returns whether that has changed."""
        if not self.name and (known := topics.by_id(self.topic_id)) is not None:
            self.name = known.name
        found = topics.by_name(self.name) if self.name else None
        changed = found is not self.topic
        self.topic = found
        return changed


class SessionPartition:
    """A partition of a session: what is wanted of it, and what its client heard last (Kafka: `CachedPartition`)."""

    __slots__ = ("high_watermark", "log_start_offset", "part", "partition", "topic")

    def __init__(self, topic: SessionTopic, part: FetchPartition) -> None:
        self.topic = topic
        self.part = part
        self.partition: Partition | None = None
        """What it means, if there is such a one; found by `FetchSession.resolve`."""
        self.high_watermark = -1
        self.log_start_offset = -1

    def is_news(self, data: PartitionData) -> bool:
        """Whether the client must hear of `data`; from then on it has. An error is answered until it is over."""
        news = bool(data.records) or data.error_code != ErrorCode.none or data.diverging_epoch is not None
        if data.high_watermark != self.high_watermark:
            self.high_watermark = data.high_watermark
            news = True
        if data.log_start_offset != self.log_start_offset:
            self.log_start_offset = data.log_start_offset
            news = True
        return news


class FetchSession:
    """What one client fetches, in the order in which it is read."""

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
        self.by_id = by_id
        """Whether topics are named by their ids."""
        self.epoch = 1
        """What the next request has to say."""
        self.partitions: dict[tuple[str | UUID | None, int], SessionPartition] = {}
        self._topics: dict[str | UUID | None, SessionTopic] = {}
        self.created_at_ms = self.last_used_ms = 0
        self.size = 0
        self.evictable = False
        """The number of its partitions, and whether a larger session may evict it: both as of its last use."""

    def update(self, request: FetchRequest) -> None:
        """Adds and changes what a request names, and forgets what it wants forgotten; a session begins with nothing."""
        for asked in request.topics:
            key = asked.topic_id if self.by_id else asked.topic
            for part in asked.partitions:
                known = self.partitions.get((key, part.partition))
                if known is not None:
                    known.part = part
                    continue
                topic = self._topics.get(key)
                if topic is None:
                    topic = self._topics[key] = SessionTopic(asked.topic, asked.topic_id if self.by_id else None)
                topic.partitions += 1
                self.partitions[key, part.partition] = SessionPartition(topic, part)
        for forgotten in () if request.session_epoch == INITIAL_EPOCH else request.forgotten_topics_data:
            key = forgotten.topic_id if self.by_id else forgotten.topic
            for index in forgotten.partitions:
                self._forget(key, index)

    def _forget(self, key: str | UUID | None, index: int) -> None:
        gone = self.partitions.pop((key, index), None)
        if gone is not None:
            gone.topic.partitions -= 1
            if not gone.topic.partitions:
                del self._topics[key]

    def resolve(self, topics: Topics) -> None:
        """Finds out what its partitions mean now. Costs a look-up per topic, and one per partition that is unknown."""
        changed = {each for each in self._topics.values() if each.resolve(topics)}
        for cached in self.partitions.values():
            if cached.partition is None or (changed and cached.topic in changed):
                topic = cached.topic.topic
                cached.partition = None if topic is None else topic.partition(cached.part.partition)

    def is_up_to_date(self, topics: Topics) -> bool:
        """Whether everything still means what it meant when it was resolved."""
        return all(topics.by_name(each.name) is each.topic and not each.made_anew for each in self._topics.values())

    def put_last(self, cached: SessionPartition) -> None:
        """A partition has had its turn: records of it go out, and the next time the others come before it."""
        key = (cached.topic.topic_id if self.by_id else cached.topic.name, cached.part.partition)
        if self.partitions.pop(key, None) is not None:
            self.partitions[key] = cached

    def end_epoch(self) -> None:
        """A request of this epoch has come; the next one must have the next."""
        self.epoch = self.epoch + 1 if self.epoch < _LARGEST_EPOCH else 1


class FetchSessions:
    """The sessions of a node."""

    __slots__ = ("_next_shard", "_random", "_remembered", "_room", "_shards")

    def __init__(self, slots: int, random: Random) -> None:
        """`slots`: `max.incremental.fetch.session.cache.slots`. Each shard has an eighth, rounded down, as in Kafka."""
        self._room = slots // SHARDS
        self._random = random
        self._shards: list[dict[int, FetchSession]] = [{} for _ in range(SHARDS)]
        self._next_shard = 0
        self._remembered = 0
        """The partitions of all sessions, as of their last use."""

    def __len__(self) -> int:
        """How many sessions there are."""
        return sum(map(len, self._shards))

    def find(self, session_id: int, epoch: int, *, by_id: bool) -> FetchSession | ErrorCode:
        """The session that a request means, or why it is refused.

        FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR, in Kafka's order; and
        UNKNOWN_SERVER_ERROR for ids that lie beyond every shard, where Kafka's look-up fails.
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
        """Gives a new session its id, if there is room or another one has to go for it; else it keeps NO_SESSION."""
        number = self._next_shard
        self._next_shard = (number + 1) % SHARDS
        shard = self._shards[number]
        if len(shard) >= self._room:
            gone = _evictable(shard, len(session.partitions), now_ms)
            if gone is None:
                return
            self._forget(shard, gone)
        lowest = max(1, number * IDS_OF_A_SHARD)
        while session.id == NO_SESSION or session.id in shard:
            session.id = self._random.randrange(lowest, (number + 1) * IDS_OF_A_SHARD)
        session.created_at_ms = now_ms
        shard[session.id] = session
        self.use(session, now_ms)
        if session.id not in shard:
            session.id = NO_SESSION

    def use(self, session: FetchSession, now_ms: int) -> None:
        """Note that a client has used its session. If all remember too much together, the largest one ends."""
        session.last_used_ms = now_ms
        self._remembered += len(session.partitions) - session.size
        session.size = len(session.partitions)
        session.evictable = now_ms - session.created_at_ms > EVICTION_MS
        if self._remembered > PARTITIONS_REMEMBERED:
            for shard in self._shards:
                for each in [each for each in shard.values() if now_ms - each.last_used_ms > EVICTION_MS]:
                    self._forget(shard, each)
        while self._remembered > PARTITIONS_REMEMBERED:
            # It need not be the one that was used: no client may keep others from having a session.
            sessions = [other for shard in self._shards for other in shard.values()]
            self.remove(max(sessions, key=lambda other: (other.size, other is session)).id)

    def _forget(self, shard: dict[int, FetchSession], session: FetchSession | None) -> None:
        if session is not None:
            self._remembered -= session.size
            del shard[session.id]

    def remove(self, session_id: int) -> ErrorCode:
        """Ends a session, if there is such a one. UNKNOWN_SERVER_ERROR as for `find`."""
        shard = self._shard_of(session_id)
        if shard is None:
            return ErrorCode.unknown_server_error
        self._forget(shard, shard.get(session_id))
        return ErrorCode.none

    def clear(self) -> None:
        """Ends all: the node has stopped."""
        for shard in self._shards:
            shard.clear()
        self._remembered = 0

    def _shard_of(self, session_id: int) -> dict[int, FetchSession] | None:
        number = abs(session_id) // IDS_OF_A_SHARD
        if session_id < 0:
            number = -number  # as Java divides; small negative ids are looked for, and not found
        return self._shards[number] if 0 <= number < SHARDS else None


def _evictable(shard: dict[int, FetchSession], size: int, now_ms: int) -> FetchSession | None:
    """Which may make room for a session of `size` partitions: one that is stale, or old enough and smaller."""
    if not shard:
        return None
    gone = min(shard.values(), key=lambda each: (each.last_used_ms, each.id))
    if now_ms - gone.last_used_ms <= EVICTION_MS:
        evictable = [each for each in shard.values() if each.evictable]
        if not evictable:
            return None
        gone = min(evictable, key=lambda each: (each.size, each.id))
        if size <= gone.size:
            return None
    return gone
