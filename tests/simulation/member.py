"""A member of a group in a simulated cluster, whichever protocol it speaks: its connection, its commits, its mistakes.

It behaves as a client library does: it commits only for what it owns, from where its group had got to when it was given
the partition. Who answers it, and whether the answer arrives, is the world's business (`MemberWorld`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, NamedTuple, Protocol
from uuid import UUID

from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.classic_group_member import SYNCED, ClassicMember
from kohort.whatif.clients.consumer_group_member import REPLACED, ConsumerMember
from kohort.whatif.clients.group_member import ELSEWHERE, LATER, VERSIONS, GroupMember, Said, Topics
from tests.support.broker import Client
from tests.support.frames import frame, message

FORESEEN = (
    E.none, E.member_id_required, E.rebalance_in_progress, E.unknown_member_id, E.fenced_instance_id,
    E.unreleased_instance_id, E.illegal_generation, E.stale_member_epoch, E.fenced_member_epoch, E.group_id_not_found,
    E.inconsistent_group_protocol, E.group_max_size_reached, E.unsupported_version, *LATER,
)  # fmt: skip
"""What a member may be answered that is at the right broker."""


class MemberWorld(Topics, Protocol):
    """Environment of a member."""

    random: Random

    def reaches(self, group: str) -> Client | None:
        """Open a connection to the supposed coordinator, or return None if it does not run."""
        ...

    def now_ms(self) -> int: ...

    def say(self, line: str) -> None: ...

    def commits(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        """Record that a commit is about to be sent."""
        ...

    def committed(self, member: Member, at: tuple[UUID, int], offset: int, epoch: int) -> None:
        """Record that a commit was acknowledged."""
        ...

    def fetched(self, member: Member, at: tuple[UUID, int], offset: int) -> None:
        """Record a fetched offset of the group."""
        ...


class Asked(NamedTuple):
    """A request whose answer has not come."""

    said: Said
    version: int
    then: Callable[[E], None]
    """Called with what came of it."""


@dataclass(eq=False, kw_only=True)
class Member(GroupMember):
    """A simulated client whose `act` performs its next action."""

    foreseen: ClassVar[tuple[E, ...]] = FORESEEN
    world: MemberWorld
    silent_until_ms: int = 0
    holds_on_until_ms: int = 0
    """Until then it does not revoke partitions, in the newer protocols."""
    loses_answer: bool = False
    asked: Asked | None = None
    is_answered_at_once: bool = False
    """While an answer is taken that needed to wait for nothing."""
    _client: Client | None = None

    def __post_init__(self) -> None:
        self.topics = self.world

    def __str__(self) -> str:
        return f"{self.name}({self.group_id} {self.member_id[-6:]} {self.epoch})"

    # The connection

    def asks(self, said: Said, then: Callable[[E], None] = lambda _: None) -> None:
        """Send a request if there is a connection; `then` receives its error unless the response is lost."""
        if self._client is None or self._client.closed:
            self._client = self.world.reaches(self.group_id)
            if self._client is None:
                return
        self.asked = Asked(said, self.version_of(said.api), then)
        self.is_answered_at_once = True
        self._client.says(frame(said.api, self.asked.version, 1, client_id=self.name, **said.fields))
        self.listens()
        self.is_answered_at_once = False

    def version_of(self, api: str) -> int:
        return VERSIONS[api]

    def listens(self) -> None:
        """Process a response that has arrived, or notice a lost connection."""
        if self.asked is None or self._client is None:
            return
        asked = self.asked
        for data in self._client.heard():
            self.asked = None
            if self.loses_answer:
                self.world.say(f"{self} loses an answer to {asked.said.api}")
                self.loses_answer = False
                self.hangs_up()
                self.is_cut_off()
                return
            self._hears(asked, message(asked.said.api).read_response(asked.version, data)[1])
            return
        if self._client.closed:
            self.hangs_up()
            self.is_cut_off()

    def _hears(self, asked: Asked, response: Any) -> None:
        error = asked.said.hear(response)
        self.world.say(f"{self} {asked.said.api} <- {error.name}")
        if error in ELSEWHERE:
            self.hangs_up()
        else:
            assert error in self.foreseen, f"{asked.said.api}: {error.name}"
        asked.then(error)

    def hangs_up(self) -> None:
        """Disconnect, so that pending requests get no response."""
        if self._client is not None:
            self._client.connection.connection_lost(None)
        self._client, self.asked = None, None

    # What it does

    def act(self) -> None:
        """Perform the client's next action."""
        raise NotImplementedError

    @property
    def settled(self) -> object:
        """What changes on the way."""
        return self.epoch, frozenset(self.owned), self.asked is None

    def forget(self) -> None:
        self.hangs_up()
        self.loses_answer = False
        super().forget()

    def leaves(self) -> None:
        """Send a leave request and forget the member id."""
        self._goes(self.leave())

    def _goes(self, said: Said) -> None:
        if self.epoch > 0 and self.asked is None:
            self.gives_up(self.owned)
            self.asks(said)
        self.forget()

    # Offsets

    def fetches_or_commits(self) -> bool:
        """Fetch the initial offset or commit a new one, and return whether there was anything to do."""
        unknown = self.owned - self.positions.keys()
        if unknown:
            self.asks(self.fetch_offsets(unknown))
        elif self.positions:
            self.commits(self.world.random.choice(sorted(self.positions)))
        return bool(self.owned)

    def fetched(self, at: tuple[UUID, int], offset: int) -> None:
        super().fetched(at, offset)
        self.world.fetched(self, at, offset)

    def commits(self, at: tuple[UUID, int], *, epoch: int | None = None) -> None:
        """Commit one more record, with `epoch` instead of the member's own if given."""
        named = self.epoch if epoch is None else epoch
        offset = self.positions.get(at, 0) + 1
        if epoch is None:
            self.positions[at] = offset
        self.world.commits(self, at, offset)

        def heard(error: E) -> None:
            if error is E.none:
                self.world.committed(self, at, offset, named)

        self.asks(self.commit(self.world.name_of(at[0]), at[1], offset, epoch=epoch), heard)


@dataclass(eq=False, kw_only=True)
class SimulatedClassic(Member, ClassicMember):
    """One that speaks the classic protocol."""

    is_out_of_step: bool = False
    """Whether its group believes that it has something else, until it syncs: see `consuming_promises`."""

    @property
    def settled(self) -> object:
        return super().settled, self.phase

    def act(self) -> None:
        if self.phase != SYNCED or self.world.random.random() < 0.5 or not self.fetches_or_commits():
            self.asks(self.next())

    def _synced(self, response: Any) -> E:
        self.is_out_of_step &= response.error_code is not E.none
        return super()._synced(response)


@dataclass(eq=False, kw_only=True)
class SimulatedConsumer(Member, ConsumerMember):
    """One that speaks the consumer protocol, careless in all ways a client can be."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._new_process()

    def _new_process(self) -> None:
        self.member_id = "" if self.gets_id else f"{self.name}-{self.world.random.randrange(10**6)}"

    def version_of(self, api: str) -> int:
        return 0 if self.gets_id and api == "consumer_group_heartbeat" else VERSIONS[api]

    def forget(self) -> None:
        super().forget()
        self._new_process()

    def act(self) -> None:
        gone, random = self.owned - self.told, self.world.random
        self.holds_on = bool(gone) and self.world.now_ms() < self.holds_on_until_ms
        is_to_tell = self.epoch <= 0 or (self.owned != self.told and not self.holds_on)
        known = [] if self.holds_on else sorted(gone & self.positions.keys())
        if known and random.random() < 0.5:
            self.commits(known[0])
            if self.asked is not None:
                return
        if is_to_tell or random.random() < 0.5 or not self.fetches_or_commits():
            self.asks(self.next(), self._has_beaten)

    def _has_beaten(self, error: E) -> None:
        if error in REPLACED:
            self.forget()
        elif self.owned - self.told and error is E.none and self.world.random.random() < 0.3:
            # Now and then it takes its time to give partitions up, and now and then too much of it.
            self.holds_on_until_ms = self.world.now_ms() + self.world.random.choice((500, 2_000, 8_000))

    # What goes wrong

    def steps_out(self) -> None:
        """Leave temporarily as a static member."""
        self._goes(self.step_out() if self.instance is not None else self.leave())

    def lies(self, by: int) -> None:
        """Send a past or future epoch in a heartbeat or a commit."""
        epoch = self.epoch + by
        if self.epoch <= 0 or epoch <= 0 or self.asked is not None:
            return
        if self.positions and self.world.random.random() < 0.5:
            self.commits(self.world.random.choice(sorted(self.positions)), epoch=epoch)
            return

        def heard(response: Any) -> E:
            self.is_full = True
            error: E = response.error_code
            return error

        self.asks(self.beat(member_epoch=epoch)._replace(hear=heard))

    def subscribe(self, names: tuple[str, ...]) -> None:
        """Subscribe to other topics with the next heartbeat."""
        self.names, self.is_full = names, True
