"""Members of a share group on a broker that dies, and what they must never see."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any

from kohort.coordinator.share_partitions.in_flight import member_of
from kohort.coordinator.share_partitions.record_states import ACCEPT, REJECT, RELEASE
from kohort.protocol.batches import Record, build_batch
from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.produce import PartitionProduceData, TopicProduceData
from kohort.storage.topic import Topic
from kohort.whatif.clients.group_member import Said
from tests.crash.killed_shares import CONFIGS, LEADER, LIMIT
from tests.crash.life import Life
from tests.support.data_requests import topic as new_topic
from tests.support.frames import frame, message
from tests.support.share_consumer import SHARE_VERSIONS, At, ShareConsumer, Words, delivered, outcomes

QUEUE, GROUP = "queue", "workers"


class SharePlay:
    """One partition, its producer, and members that live on when the broker does not."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.was_ready = False
        self.written: set[int] = set()
        """Offsets of records that were acknowledged."""
        self.done: set[int] = set()
        """Offsets whose acceptance or rejection succeeded."""
        self.perhaps: set[int] = set()
        """Of those of which a member wanted that."""
        self.counts: dict[int, int] = {}
        """Delivery count in the last response, by offset."""
        self.again = self.restarted = 0
        """How often a record was delivered again, and how many there were in hand when the broker died."""
        self._started = 0

    def meet(self, life: Life) -> None:
        """Connect to the next broker, which has released all locks."""
        self.life = life
        if self.was_ready:
            self.restarted += sum(map(len, self.in_hand.values()))
        self.in_hand: dict[ShareConsumer, set[int]] = {}
        self._clients: dict[ShareConsumer, Any] = {}

    def begin(self) -> None:
        """Create the initial topics and groups."""
        response = self.life.hears("create_topics", 7, topics=(new_topic(QUEUE, 1),))
        assert response.topics[0].error_code is E.none
        assert self.life.cluster.group_configs.configure(GROUP, CONFIGS) is None
        heard: list[E] = []

        def initialized(outcomes: Any, now_ms: int) -> None:
            heard.extend(outcome.error_code for outcome in outcomes.values())

        persister = self.life.cluster.share_persister
        self.life.server.act(partial(persister.initialize, GROUP, {self.at: (1, -1)}, initialized))
        self.life.settle()
        assert heard == [E.none]
        self.was_ready = True

    @property
    def topic(self) -> Topic:
        topic = self.life.cluster.topics.by_name(QUEUE)
        assert topic is not None
        return topic

    @property
    def at(self) -> At:
        return self.topic.topic_id, 0

    # What happens

    def step(self) -> None:
        actions = (self.produces, self.fetches, self.says, self.passes, self.goes)
        self.random.choices(actions, (20, 30, 40, 6, 1))[0]()

    def produces(self) -> None:
        batch = build_batch([Record(None, b"x", self.life.wall_ms) for _ in range(self.random.choice((1, 2, 7)))])
        data = TopicProduceData(name=QUEUE, partition_data=(PartitionProduceData(index=0, records=batch),))
        answer = self.life.hears("produce", 9, acks=-1, timeout_ms=1, topic_data=(data,))
        part = answer.responses[0].partition_responses[0]
        assert part.error_code is E.none
        self.written |= set(range(part.base_offset, self.topic.partitions[0].log.log_end_offset))

    def fetches(self, most: int | None = None) -> int:
        """Fetch, and return the number of acquired records."""
        member = self._member()
        at_most = most or self.random.choice((1, 5, 500))
        said = member.fetch(LEADER, {self.at}, max_records=at_most, share_acquire_mode=1)
        response = self._asks(member, said)
        given = 0
        for delivery in delivered(response) if response.error_code is E.none else ():
            for offset in range(delivery.first_offset, delivery.last_offset + 1):
                assert offset not in self.done, (
                    f"{offset} is done with, and is delivered for the {delivery.deliveries}. time"
                )
                most_often = self.counts.get(offset, 0) + 1
                assert 1 <= delivery.deliveries <= most_often, f"{offset}: {delivery.deliveries} after {most_often - 1}"
                holders = [other.name for other, has in self.in_hand.items() if offset in has]
                assert not holders, f"{offset} goes to {member.name}, and {holders} hold it"
                self.again += offset in self.counts
                self.counts[offset] = delivery.deliveries
                self.in_hand.setdefault(member, set()).add(offset)
                given += 1
        return given

    def says(self, *, everything: bool = False) -> None:
        holders = [each for each, has in self.in_hand.items() if has]
        if not holders:
            return
        member = self.random.choice(holders)
        has = sorted(self.in_hand[member])
        named = has if everything else self.random.sample(has, self.random.randint(1, len(has)))
        kinds = {
            each: ACCEPT if everything else self.random.choice((ACCEPT, ACCEPT, RELEASE, REJECT)) for each in named
        }
        finals = {each for each, kind in kinds.items() if kind != RELEASE}
        self.perhaps |= finals
        words: Words = {self.at: kinds}
        self.in_hand[member] -= set(named)
        said = member.acknowledge(LEADER, words)
        response = self._asks(member, said)
        assert response.error_code is E.none
        for _, error in outcomes(said, response):
            if error is E.none:
                self.done |= finals
            else:
                assert error is E.invalid_record_state, error  # its lock has expired

    def passes(self) -> None:
        self.life.wait(self.random.choice((1, 300, 31_000)))
        self.life.settle()
        self._lets_go()

    def goes(self) -> None:
        if self._clients:
            member = self.random.choice(list(self._clients))
            self._clients.pop(member).connection.connection_lost(None)
            self.in_hand.pop(member, None)
            self.life.settle()
            self._lets_go()

    def _lets_go(self) -> None:
        """Forget records whose locks have ended."""
        self.in_hand = {member: has & self._locked(member) for member, has in self.in_hand.items()}

    def _locked(self, member: ShareConsumer) -> set[int]:
        """Return the records that a member has locked, by its leader's state."""
        found: set[int] = set()
        for known in self.life.cluster.nodes[0].led_share_partitions.of_group(GROUP):
            in_flight = known.in_flight
            for first, last, holder in zip(in_flight.firsts, in_flight.lasts, in_flight.holders, strict=True):
                if holder is not None and member_of(holder) == member.member_id:
                    found |= set(range(first, last + 1))
        return found

    def _member(self) -> ShareConsumer:
        """Return a connected member or a new one."""
        if len(self._clients) < 2 or self.random.random() < 0.02:
            self._started += 1
            name = f"m{self._started}"
            member = ShareConsumer(name=name, group_id=GROUP, member_id=name)
            self._clients[member] = self.life.client()
            return member
        return self.random.choice(list(self._clients))

    def _asks(self, member: ShareConsumer, said: Said) -> Any:
        client = self._clients[member]
        client.says(frame(said.api, SHARE_VERSIONS[said.api], 1, **said.fields))
        self.life.settle()
        if not (frames := client.heard()):
            self.life.wait(1)  # a request with many ranges takes several slices
            self.life.settle()
            frames = client.heard()
        (data,) = frames
        response = message(said.api).read_response(SHARE_VERSIONS[said.api], data)[1]
        said.hear(response)
        return response

    # What must hold

    def nothing_is_lost(self) -> None:
        """Accept all remaining records, and check that all are processed."""
        for _ in range(500):
            self.life.wait(1_000)
            self.life.settle()
            response = self.fetches(500)
            while any(self.in_hand.values()):
                self.says(everything=True)
            if not response and self.written <= self.done | self.perhaps | self._often():
                return
        raise AssertionError(f"lost: {sorted(self.written - self.done - self.perhaps - self._often())}")

    def _often(self) -> set[int]:
        return {offset for offset, count in self.counts.items() if count >= LIMIT}
