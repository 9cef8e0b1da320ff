"""A member of a share group in a simulated cluster: its connections, what it makes of records, its mistakes.

It has a connection to its coordinator and one to each leader, and sends one request at a time on each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from kohort.coordinator.share_partitions.record_states import ACCEPT, GAP, REJECT, RELEASE, RENEW
from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.group_member import ELSEWHERE, Said
from tests.simulation.share_ledger import Asked, Key
from tests.support.broker import Client
from tests.support.frames import frame, message
from tests.support.share_consumer import (
    FINAL_EPOCH,
    NO_SESSION,
    SHARE_VERSIONS,
    At,
    ShareConsumer,
    Words,
    delivered,
    outcomes,
)

if TYPE_CHECKING:
    from tests.simulation.sharing import Queues

HOME = 0
"""In place of a leader's number: the connection to the coordinator."""
FORESEEN = (E.none, E.unknown_member_id, E.fenced_member_epoch, E.unknown_server_error, *ELSEWHERE, *NO_SESSION)
OF_PARTITIONS = (
    E.none, E.not_leader_or_follower, E.unknown_topic_or_partition, E.coordinator_not_available, E.unknown_server_error,
    E.invalid_record_state, E.invalid_request, E.group_id_not_found,
)  # fmt: skip
NOT_WRITTEN = (E.invalid_record_state, E.invalid_request)
"""After these nothing of what was said counts."""


class Sent(NamedTuple):
    """A request whose answer has not come."""

    said: Said
    words: Words
    asked: Asked
    finals: Mapping[At, list[int]]
    """What it wants to be done with."""


@dataclass(eq=False, kw_only=True)
class Worker(ShareConsumer):
    """A simulated share consumer whose `act` performs its next action."""

    world: Queues
    limits: dict[str, int] = field(default_factory=dict)
    """How it fetches."""
    silent_until_ms: int = 0
    is_thorough: bool = False
    """It accepts whatever it is given."""
    in_hand: dict[int, dict[At, set[int]]] = field(default_factory=dict)
    """By leader and partition: offsets of which it has said nothing yet."""
    _clients: dict[int, Client] = field(default_factory=dict)
    _sent: dict[int, Sent] = field(default_factory=dict)

    # Connections

    def asks(self, node: int, said: Said, words: Words | None = None) -> None:
        """Send a request to a leader or the coordinator, if it runs."""
        client = self._clients.get(node)
        if client is None or client.closed:
            self.hangs_up(node)
            client = self.world.reaches(self.group_id, node)
            if client is None:
                return
            self._clients[node] = client
        words = words or {}
        finals = {at: self._finals(at, types) for at, types in words.items()}
        self._notes(words, finals)
        request = Asked(
            self.world.ledger.turn, self.world.now_ms(), self.member_id, node, self.world.eras(self.group_id)
        )
        self._sent[node] = Sent(said, words, request, finals)
        self.world.ledger.turn += 1
        client.says(frame(said.api, SHARE_VERSIONS[said.api], 1, client_id=self.name, **said.fields))
        self.listens()

    def _finals(self, at: At, types: Mapping[int, int]) -> list[int]:
        """Return acknowledgements that end a delivery and can be written.

        Those below the start are accepted without a check or a write, so another leader may redeliver them. Source:
        Kafka's `SharePartition.acknowledge`.
        """
        start = self.world.start_of(self.group_id, at)
        return [each for each in types if each >= start and types[each] in (GAP, ACCEPT, REJECT)]

    def _notes(self, words: Words, finals: Mapping[At, list[int]]) -> None:
        """Record that a worker is about to acknowledge these records."""
        for at, types in words.items():
            key = self.group_id, at
            self._renews(key, types, self.world.now_ms(), is_sure=False)
            self.world.ledger.gives_up(key, [each for each in types if types[each] != RENEW], self.member_id)
            self.world.ledger.wants_done(key, finals[at])

    def listens(self) -> None:
        """Process responses that have arrived, and notice lost connections."""
        for node, client in list(self._clients.items()):
            if self._clients.get(node) is not client:
                continue  # it has hung up meanwhile
            sent = self._sent.get(node)
            for data in client.heard():
                assert sent is not None
                del self._sent[node]
                self._hears(node, sent, message(sent.said.api).read_response(SHARE_VERSIONS[sent.said.api], data)[1])
            if client.closed:
                self.hangs_up(node)

    def hangs_up(self, node: int) -> None:
        """Disconnect, which ends the session and loses pending responses.

        A worker that has requested to close its session does not return under its name.
        """
        client = self._clients.pop(node, None)
        sent = self._sent.pop(node, None)
        self.in_hand.pop(node, None)
        if client is None:
            return
        if node != HOME:
            self.is_cut_off(node)
            self.world.ledger.gives_up_all(self.member_id, node)
            self.world.session_lost(self.group_id, node)
        if not client.closed:
            client.connection.connection_lost(None)
        if sent is not None and sent.said.fields.get("share_session_epoch") == FINAL_EPOCH:
            self.forget()

    def loses_connection(self) -> None:
        """Interrupt one of its connections, perhaps with a response on its way."""
        if self._clients:
            self.hangs_up(self.world.random.choice(sorted(self._clients)))

    def forget(self) -> None:
        """Reset the worker as after a crash, so that a new process acts next."""
        for node in list(self._clients):
            self.hangs_up(node)
        self.epoch, self.owned, self.sessions = 0, set(), {}
        self.member_id = self.world.new_member_id()

    # responses

    def _hears(self, node: int, sent: Sent, response: Any) -> None:
        self.world.ledger.turn += 1
        error = sent.said.hear(response)
        self.world.say(f"{self} {sent.said.api} at {node} <- {error.name}")
        assert error in FORESEEN, f"{sent.said.api}: {error.name}"
        if node == HOME:
            if error in ELSEWHERE:
                self.hangs_up(HOME)
            return
        if error in NO_SESSION:
            self.in_hand.pop(node, None)
        if error is E.none:
            self._hears_of_words(node, sent, response)
            if sent.said.api == "share_fetch":
                self._takes(node, sent.asked, response)

    def _hears_of_words(self, node: int, sent: Sent, response: Any) -> None:
        heard = dict(outcomes(sent.said, response))
        for at, types in sent.words.items():
            error = heard.get(at, E.none)
            assert error in OF_PARTITIONS, error
            self.world.say(f"  {self} {at[1]} {_told(types)} <- {error.name}")
            self._hears_of(node, sent, at, error)

    def _hears_of(self, node: int, sent: Sent, at: At, error: E) -> None:
        ledger, key, types = self.world.ledger, (self.group_id, at), sent.words[at]
        self.world.happened[f"said {error.name}"] += 1
        if error is E.none:
            ledger.is_done(key, sent.finals[at])
            renewed = self._renews(key, types, sent.asked.at_ms, is_sure=True)
            self.in_hand.setdefault(node, {}).setdefault(at, set()).update(renewed)
        elif error in NOT_WRITTEN:
            ledger.is_not_done(key, sent.finals[at])

    def _renews(self, key: Key, types: Mapping[int, int], since_ms: int, *, is_sure: bool) -> list[int]:
        """Record renewed locks, which start between the request and now."""
        renewed = [each for each in types if types[each] == RENEW]
        until_ms = since_ms + self.world.shortest_lock_ms(self.group_id, since_ms)
        self.world.ledger.holds_on(key, renewed, self.member_id, until_ms, is_sure=is_sure)
        return renewed

    def _takes(self, node: int, asked: Asked, response: Any) -> None:
        until_ms = asked.at_ms + self.world.shortest_lock_ms(self.group_id, asked.at_ms)
        for topic in response.responses:
            for part in topic.partitions:
                assert part.error_code in OF_PARTITIONS, part.error_code
                self.world.happened[f"fetched {part.error_code.name}"] += 1
        for delivery in delivered(response):
            offsets = range(delivery.first_offset, delivery.last_offset + 1)
            self.world.say(
                f"  {self} is given {delivery.at[1]} {offsets[0]}-{offsets[-1]} for the {delivery.deliveries}. time"
            )
            self.world.was_delivered(self, delivery, asked, until_ms)
            self.in_hand.setdefault(node, {}).setdefault(delivery.at, set()).update(offsets)

    # What it does

    def act(self) -> None:
        """Perform the client's next action: a heartbeat, an acknowledgement or a fetch."""
        random = self.world.random
        self.listens()
        if HOME not in self._sent and (not self.epoch or random.random() < 0.2):
            self.asks(HOME, self.beat())
            return
        by_leader: dict[int, set[At]] = {}
        for at in self.owned:
            by_leader.setdefault(self.world.leader_of(at), set()).add(at)
        leaders = [each for each in sorted({*by_leader, *self.in_hand}) if each > 0 and each not in self._sent]
        if leaders:
            node = random.choice(leaders)
            self._works(node, by_leader.get(node, set()))

    def _works(self, node: int, wanted: set[At]) -> None:
        """Acknowledge some records of a leader and fetch more, in one or two requests."""
        random = self.world.random
        words = self._words(node)
        renews = any(RENEW in types.values() for types in words.values())
        has_session = node in self.sessions and self.sessions[node].epoch > 0
        if words and has_session and (renews or not wanted or random.random() < 0.4):
            self._lays_down(node, words)
            self.asks(node, self.acknowledge(node, words, renews=renews), words)
        elif wanted:
            said = words if has_session and not renews else {}
            self._lays_down(node, said)
            waits = {"max_wait_ms": random.choice((0, 0, 500, 3_000)), "min_bytes": random.choice((1, 1, 2_000))}
            self.asks(node, self.fetch(node, wanted, said, **self.limits, **waits), said)
        else:
            self.in_hand.pop(node, None)

    def _words(self, node: int) -> dict[At, dict[int, int]]:
        """Choose acknowledgements for some of its records."""
        random, words = self.world.random, {}
        for at, offsets in sorted(self.in_hand.get(node, {}).items()):
            named = sorted(offsets)
            if not self.is_thorough:
                named = named[: random.randint(0, len(named))]
            if named:
                words[at] = {offset: self._word(at, offset) for offset in named}
        return words

    def _word(self, at: At, offset: int) -> int:
        if not self.world.is_record(at, offset):
            return GAP
        if self.is_thorough:
            return ACCEPT
        return self.world.random.choices((ACCEPT, RELEASE, REJECT, RENEW), (70, 15, 5, 6))[0]

    def _lays_down(self, node: int, words: Words) -> None:
        for at, types in words.items():
            self.in_hand[node][at].difference_update(types)

    def closes(self) -> None:
        """Close one of its sessions, or leave the group."""
        nodes = [session for session in self.sessions if session not in self._sent]
        if nodes and self.world.random.random() < 0.7:
            node = self.world.random.choice(nodes)
            words = self._words(node) if self.sessions[node].epoch > 0 else {}
            words = {at: types for at, types in words.items() if RENEW not in types.values()}
            self.in_hand.pop(node, None)
            self.world.ledger.gives_up_all(self.member_id, node)
            self.asks(node, self.close(node, words), words)
        elif self.epoch and HOME not in self._sent:
            self.asks(HOME, self.leave())

    def lies(self) -> None:
        """Acknowledge foreign records, or send another session epoch."""
        random = self.world.random
        nodes = [each for each, session in self.sessions.items() if each not in self._sent and session.epoch > 0]
        if not nodes or not self.owned:
            return
        node, at = random.choice(nodes), random.choice(sorted(self.owned))
        if random.random() < 0.3:
            wrong = self.sessions[node].epoch + random.choice((-1, 1, 7))
            self.asks(node, self.acknowledge(node, {}, epoch=max(wrong, 0)))
            return
        first = random.randint(0, 30) + self.world.start_of(self.group_id, at)
        word = random.choice((ACCEPT, RELEASE, REJECT))
        words = {at: dict.fromkeys(range(first, first + random.choice((1, 3, 10))), word)}
        self.asks(node, self.acknowledge(node, words), words)


def _told(types: Mapping[int, int]) -> str:
    names = {GAP: "gap", ACCEPT: "accept", RELEASE: "release", REJECT: "reject", RENEW: "renew"}
    return " ".join(f"{offset} {names[kind]}" for offset, kind in types.items())
