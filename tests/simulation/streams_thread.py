"""A thread of Kafka Streams in a simulated cluster, careless in all ways a client can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, Topology
from tests.simulation.member import FORESEEN, Member, MemberWorld
from tests.support.group_member import VERSIONS
from tests.support.streams_member import STREAMS_HEARTBEAT_VERSION, StreamsMember, task_ids

PROCESSES = "abc"
BEATS_AFTER_MS = 3_000
"""Then a heartbeat comes before commits."""
HEARTBEAT = "streams_group_heartbeat"
HAVE_ENDPOINTS = ("counts",)
"""Groups with threads that can be asked. While topics do not fit, they may hear UNKNOWN_SERVER_ERROR, in Kafka, too.
A thread ends with it, and another one begins."""


class StreamsWorld(MemberWorld, Protocol):
    """What a thread asks of its world beside that."""

    def topology_of(self, group_id: str) -> Topology:
        """What is deployed as a group now."""
        ...


@dataclass(eq=False, kw_only=True)
class Thread(Member, StreamsMember):
    """See above."""

    world: StreamsWorld
    foreseen: ClassVar[tuple[E, ...]] = (*FORESEEN, E.invalid_request)
    beat_at_ms: int = 0
    missed: bool = False
    """Whether an answer did not come since it joined: what that gave or took nobody tells it again, in Kafka, too."""
    last_epoch: int = 0
    """The epoch it heard last under its member id."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._new_process()

    def __str__(self) -> str:
        return f"{self.name}({self.group_id} {self.process_id} {self.member_id[-6:]} {self.epoch})"

    def _new_process(self) -> None:
        random = self.world.random
        self.member_id = f"{self.name}-{random.randrange(10**6)}"
        self.process_id = random.choice(PROCESSES)
        has_endpoint = self.group_id in HAVE_ENDPOINTS and random.random() < 0.5
        self.endpoint = Endpoint(host=self.name, port=80) if has_endpoint else None
        self.last_epoch = 0

    def version_of(self, api: str) -> int:
        return STREAMS_HEARTBEAT_VERSION if api == HEARTBEAT else VERSIONS[api]

    @property
    def settled(self) -> object:
        return super().settled, frozenset(self.active), frozenset(self.standby), self.statuses

    def forget(self) -> None:
        super().forget()
        self._new_process()

    def is_cut_off(self) -> None:
        super().is_cut_off()
        self.missed = True

    def _loses_everything(self) -> None:
        super()._loses_everything()
        self.topology, self.missed = self.world.topology_of(self.group_id), False

    # What it does

    def act(self) -> None:
        random, gone = self.world.random, self.is_to_let_go
        self.holds_on = gone and self.world.now_ms() < self.holds_on_until_ms
        is_due = self.world.now_ms() - self.beat_at_ms >= BEATS_AFTER_MS
        is_to_tell = is_due or self.epoch <= 0 or self.is_full or (gone and not self.holds_on)
        if gone and self.positions and random.random() < 0.5:
            self.commits(random.choice(sorted(self.positions)))
            if self.asked is not None:
                return
        if is_to_tell or random.random() < 0.5 or not self.fetches_or_commits():
            self.beat_at_ms = self.world.now_ms()
            self.asks(self.next(), self._has_beaten)

    def _has_beaten(self, error: E) -> None:
        """Now and then it takes its time to give tasks up, and now and then too much of it."""
        self.missed |= error is not E.none
        if error is E.unknown_server_error:
            assert self.group_id in HAVE_ENDPOINTS, f"{self}: {error.name}"
            self.forget()
        if error is E.none and self.epoch > 0:
            assert self.epoch >= self.last_epoch, f"{self} is back from epoch {self.last_epoch}"
            self.last_epoch = self.epoch
            if self.is_to_let_go and self.world.random.random() < 0.3:
                self.holds_on_until_ms = self.world.now_ms() + self.world.random.choice((500, 2_000, 8_000))

    def changes_itself(self) -> None:
        """What it says of itself is new: its group has another epoch."""
        self.tags, self.rack = {"zone": self.world.random.choice("xyz")}, self.world.random.choice((None, "r1", "r2"))
        self.is_full = True

    # What goes wrong

    def lies(self, by: int) -> None:
        """Names an epoch of the past or the future, or a task that is somebody else's or nobody's."""
        random, epoch = self.world.random, self.epoch + by
        if self.epoch <= 0 or epoch <= 0 or self.asked is not None:
            return
        if self.positions and random.random() < 0.5:
            self.commits(random.choice(sorted(self.positions)), epoch=epoch)
        elif random.random() < 0.5:
            foreign = (random.choice(self.topology.subtopologies).subtopology_id, random.randrange(6))
            self.asks(self.tell(active_tasks=task_ids(self.active | {foreign})), self._has_beaten)
        else:
            self.asks(self.beat(member_epoch=epoch)._replace(hear=self._is_refused))

    def _is_refused(self, response: Any) -> E:
        error: E = response.error_code
        assert error is not E.none or self.missed, f"{self} lies, and is believed"  # a lost answer may make it true
        self.is_full = self.missed = True
        return error
