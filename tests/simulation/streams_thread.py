"""A thread of Kafka Streams in a simulated cluster, careless in all ways a client can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.streams_group_heartbeat import Endpoint, Topology
from kohort.whatif.clients.group_member import VERSIONS
from tests.simulation.member import FORESEEN, Member, MemberWorld
from tests.support.streams_member import STREAMS_HEARTBEAT_VERSION, StreamsMember, task_ids

PROCESSES = "abc"
BEATS_AFTER_MS = 3_000
"""Then a heartbeat comes before commits."""
HEARTBEAT = "streams_group_heartbeat"
HAVE_ENDPOINTS = ("counts",)
"""Groups with interactive queries. While topics do not fit, they may get UNKNOWN_SERVER_ERROR, as in Kafka.
A thread ends with it, and another one begins."""


class StreamsWorld(MemberWorld, Protocol):
    """Additional environment of a thread."""

    def topology_of(self, group_id: str) -> Topology:
        """Return the deployed topology of a group."""
        ...


@dataclass(eq=False, kw_only=True)
class Thread(Member, StreamsMember):
    """A simulated thread of a streams application."""

    world: StreamsWorld
    foreseen: ClassVar[tuple[E, ...]] = (*FORESEEN, E.invalid_request)
    beat_at_ms: int = 0
    missed: bool = False
    """Whether a response was lost since the join: its changes are not sent again, as in Kafka."""
    last_epoch: int = 0
    """The last epoch received under its member id."""

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
        """Process a heartbeat response, sometimes with a slow or too slow revocation."""
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
        """Alter the member's metadata, so that its group gets another epoch."""
        self.tags, self.rack = {"zone": self.world.random.choice("xyz")}, self.world.random.choice((None, "r1", "r2"))
        self.is_full = True

    # What goes wrong

    def lies(self, by: int) -> None:
        """Send a past or future epoch, or a foreign task."""
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
