"""A member of a group in a simulated cluster, whichever protocol it speaks: its connection, what it owns, its commits.

It behaves as a client library does: it commits only for what it owns, from where its group had got to when it was given
the partition. Who answers it, and whether the answer arrives, is the world's business (`MemberWorld`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kohort.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopic
from tests.support.broker import Client
from tests.support.frames import frame, message

ELSEWHERE = (E.not_coordinator, E.coordinator_not_available, E.coordinator_load_in_progress)
"""Somebody else is to be asked, or later. Nothing else has changed for the member."""
LATER = (
    E.unknown_topic_or_partition, E.unstable_offset_commit, E.unknown_server_error, E.kafka_storage_error,
)  # fmt: skip
"""What has become of an offset is not known: the member tries again."""
COMMIT_VERSION, FETCH_VERSION = 9, 9

Owned = set[tuple[UUID, int]]


class MemberWorld(Protocol):
    """What a member asks of its world."""

    random: Random

    def reaches(self, group: str) -> Client | None:
        """A new connection to the group's coordinator, or to who is taken for it; None: it does not run."""
        ...

    def now_ms(self) -> int:
        """The broker's clock."""
        ...

    def say(self, line: str) -> None:
        """Puts down what happened."""
        ...

    def name_of(self, topic_id: UUID) -> str:
        """The name of a topic, also of one that is gone."""
        ...

    def topic_ids(self) -> dict[str, UUID]:
        """The topics that there are, by name."""
        ...

    def partitions_of(self, name: str) -> int:
        """How many a topic has; 0: it is not there."""
        ...

    def commits(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        """A commit is about to be asked for."""
        ...

    def committed(self, member: Member, at: tuple[UUID, int], offset: int, epoch: int) -> None:
        """A commit was acknowledged."""
        ...

    def fetched(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        """A group's offset was told."""
        ...


@dataclass
class Asked:
    """A request whose answer has not come."""

    api: str
    version: int
    then: Callable[[Any], None]


class Member:
    """See above. `act` does what the client would do next."""

    def __init__(self, world: MemberWorld, name: str, group: str, instance: str | None, names: tuple[str, ...]) -> None:
        self.world = world
        self.name = name
        self.group = group
        self.instance = instance
        self.names = names
        self.member_id = ""
        self.epoch = 0
        """Or generation."""
        self.owned: Owned = set()
        """What it consumes now, as far as it knows."""
        self.positions: dict[tuple[UUID, int], int] = {}
        self.silent_until_ms = 0
        self.loses_answer = False
        self.asked: Asked | None = None
        self.is_answered_at_once = False
        """While an answer is taken that needed to wait for nothing."""
        self._client: Client | None = None

    def __str__(self) -> str:
        return f"{self.name}({self.group} {self.member_id[-6:]} {self.epoch})"

    # The connection

    def asks(self, api: str, version: int, then: Callable[[Any], None], **fields: object) -> None:
        """Sends a request, if there is somebody to hear it; `then` gets the answer unless it is lost."""
        if self._client is None or self._client.closed:
            self._client = self.world.reaches(self.group)
            if self._client is None:
                return
        self.asked = Asked(api, version, then)
        self.is_answered_at_once = True
        self._client.says(frame(api, version, 1, client_id=self.name, **fields))
        self.listens()
        self.is_answered_at_once = False

    def listens(self) -> None:
        """Takes an answer that has come, or notices that the connection is gone."""
        if self.asked is None or self._client is None:
            return
        asked = self.asked
        for data in self._client.heard():
            self.asked = None
            if self.loses_answer:
                self.world.say(f"{self} loses an answer to {asked.api}")
                self.loses_answer = False
                self.hangs_up()
                self.is_cut_off()
                return
            asked.then(message(asked.api).read_response(asked.version, data)[1])
            return
        if self._client.closed:
            self.hangs_up()
            self.is_cut_off()

    def hangs_up(self) -> None:
        """The next request goes on another connection; what waits for an answer gets none."""
        if self._client is not None:
            self._client.connection.connection_lost(None)
        self._client, self.asked = None, None

    # What differs by protocol

    def is_cut_off(self) -> None:
        """An answer will not come."""

    def act(self) -> None:
        """What its client does next."""
        raise NotImplementedError

    def leave(self) -> None:
        """Asks to leave, and forgets who it was."""
        raise NotImplementedError

    def is_refused(self, error: E) -> None:
        """A commit or a fetch of offsets was refused."""
        raise NotImplementedError

    @property
    def settled(self) -> object:
        """What changes on the way."""
        return self.epoch, frozenset(self.owned), self.asked is None

    def forget(self) -> None:
        """It crashes: what acts next is a new process."""
        self.hangs_up()
        self.member_id, self.epoch, self.loses_answer = "", 0, False
        self.gives_up(self.owned)

    def gives_up(self, gone: Owned) -> None:
        """It does not consume these any more."""
        self.owned = self.owned - gone
        self.positions = {at: offset for at, offset in self.positions.items() if at in self.owned}

    # Offsets

    @property
    def _to_fetch(self) -> Owned:
        return self.owned - self.positions.keys()

    def fetches_or_commits(self) -> bool:
        """Finds out where to begin, or says how far it is. Returns whether there was something to say."""
        if self._to_fetch:
            self.fetches_offsets(self._to_fetch)
        elif self.positions:
            self.commits(self.world.random.choice(sorted(self.positions)))
        return bool(self.owned)

    def fetches_offsets(self, which: Owned) -> None:
        """Of partitions that it has been given."""
        by_name: dict[str, list[int]] = {}
        for topic_id, partition in sorted(which):
            by_name.setdefault(self.world.name_of(topic_id), []).append(partition)
        topics = tuple(OffsetFetchRequestTopic(name=each, partition_indexes=tuple(by_name[each])) for each in by_name)

        def told(response: Any) -> None:
            (group,) = response.groups
            if group.error_code is not E.none:
                self._offsets_refused(group.error_code)
                return
            ids = self.world.topic_ids()
            for topic in group.topics:
                for each in topic.partitions:
                    at = ids.get(topic.name), each.partition_index
                    if at[0] is not None and at in which & self.owned:
                        self.positions[at[0], at[1]] = max(each.committed_offset, 0)
                        self.world.fetched(self, (at[0], at[1]), each.committed_offset)

        asked = OffsetFetchRequestGroup(
            group_id=self.group, member_id=self.member_id, member_epoch=self.epoch, topics=topics
        )
        self.asks("offset_fetch", FETCH_VERSION, told, groups=(asked,), require_stable=True)

    def commits(self, at: tuple[UUID, int], *, epoch: int | None = None) -> None:
        """One record further. `epoch`: in place of the member's own."""
        named = self.epoch if epoch is None else epoch
        offset = self.positions.get(at, 0) + 1
        if epoch is None:
            self.positions[at] = offset
        part = OffsetCommitRequestPartition(partition_index=at[1], committed_offset=offset, committed_metadata="")
        topic = OffsetCommitRequestTopic(name=self.world.name_of(at[0]), partitions=(part,))
        self.world.commits(self, at, offset)

        def told(response: Any) -> None:
            error = response.topics[0].partitions[0].error_code
            if error is E.none:
                self.world.committed(self, at, offset, named)
            elif epoch is None:
                self._offsets_refused(error)

        self.asks(
            "offset_commit", COMMIT_VERSION, told, group_id=self.group, member_id=self.member_id,
            generation_id_or_member_epoch=named, group_instance_id=self.instance, topics=(topic,),
        )  # fmt: skip

    def _offsets_refused(self, error: E) -> None:
        if error in ELSEWHERE:
            self.hangs_up()
        elif error not in LATER:
            self.is_refused(error)
