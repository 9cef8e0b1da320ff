"""Acts of the play, one after the other, and their measurements."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

from kohort.demo.libraries import LIBRARIES
from kohort.demo.observations import GroupObservations, Observations, PlayError
from kohort.demo.reports import Report
from kohort.demo.stage import Stage
from kohort.demo.troupe import Actor, Troupe
from kohort.demo.workers.consumer import Part

TOPIC = "orders"
PARTITIONS = 6
EAGER = "billing"
COOPERATIVE = "shipping"
MOVING = "invoicing"
SLOW = "kafka-python-1"  # name of the consumer that stalls its group

SESSION_TIMEOUT_MS = 4_000
HEARTBEAT_INTERVAL_MS = 300
MAX_POLL_INTERVAL_MS = 6_000
STALL_S = 9

START_WITHIN_S = 120.0
SETTLE_WITHIN_S = 90.0
# A group counts as settled if its state has not changed for this time: kafka-python's leader, for one, requests a
# second rebalance after it has received the topic's metadata.
CALM_S = 0.6
PAUSE_S = 1.2  # between acts


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of an act."""

    title: str
    headline: str
    rebalances: int
    nobody_s: float  # longest time in which no member read anything
    partition_s: float  # longest time in which one of the act's partitions was not read
    problem: str = ""  # reason for a failure


class Audience(Protocol):
    """Interface of a view that shows the play."""

    def begins(self, number: int, title: str, about: str) -> None:
        """Show that an act begins."""

    def ends(self, outcome: Outcome) -> None:
        """Show the outcome of an act."""


Scene = Callable[[], Awaitable[Outcome]]


class Play:
    """State of the play between acts: the running members, and the time they joined."""

    def __init__(self, stage: Stage, observations: Observations, troupe: Troupe, audience: Audience, seed: int) -> None:
        self.stage = stage
        self.observations = observations
        self.troupe = troupe
        self.audience = audience
        self.seed = seed
        self.members: dict[str, Actor] = {}  # of the group EAGER
        self.cooperative: dict[str, Actor] = {}
        self.producer: Actor | None = None
        self.outcomes: list[Outcome] = []
        self._chance = random.Random(seed)
        self._since: tuple[float, int] = (0.0, 0)

    async def perform(self) -> None:
        """Perform all acts.

        Raises:
            PlayError: An act can't be completed.
        """
        acts: list[tuple[str, str, Scene]] = [
            ("the group forms", "three libraries, one consumer each, join one group", self.the_group_forms),
            ("a member joins", "a second aiokafka consumer joins", self.a_member_joins),
            (
                "one consumer processes too long",
                f"kafka-python's consumer takes {STALL_S} s over one batch during a join: the group waits for it, "
                f"until its max.poll.interval.ms of {MAX_POLL_INTERVAL_MS // 1_000} s has expired",
                self.one_consumer_stalls,
            ),
            ("a member crashes", "kill -9: the broker is not informed", self.a_member_crashes),
            ("a member leaves", "the same, with a goodbye", self.a_member_leaves),
            ("a static member restarts", "it has a group.instance.id and comes back in time", self.a_static_restart),
            ("a cooperative member joins", "a second group: cooperative-sticky", self.a_cooperative_join),
            ("a group changes its protocol", "a third group: from the classic to the consumer protocol", self.a_move),
            ("everything restarts", "all consumers and the producer stop, and come back", self.everything_restarts),
        ]
        await self._start_producer([0] * PARTITIONS)
        for number, (title, about, scene) in enumerate(acts, 1):
            self.audience.begins(number, title, about)
            outcome = await scene()
            self.outcomes.append(outcome)
            self.audience.ends(outcome)
            await asyncio.sleep(PAUSE_S)
        await self._finish()

    # Acts

    async def the_group_forms(self) -> Outcome:
        cast = await self._ready(*[self._part(library, 1) for library in LIBRARIES])
        began = self._measure_from()
        await self._join(self.members, cast)
        group = self._group
        first = min(moments[0] for moments in group.read_at if moments)
        leader = self._leader()
        return self._outcome(
            "the group forms",
            f"{len(LIBRARIES)} libraries share {PARTITIONS} partitions; the first record was read "
            f"{first - began:.1f} s after they asked to join, and {leader} made the assignment",
        )

    async def a_member_joins(self) -> Outcome:
        cast = await self._ready(self._part("aiokafka", 2))
        self._measure_from()
        owners_before = self._owners()
        await self._join(self.members, cast)
        moved = sum(owners_before[number] != owner for number, owner in self._owners().items())
        return self._outcome(
            "a member joins",
            f"all members revoked all partitions; {moved} of {PARTITIONS} partitions changed hands, "
            "and no member consumed for {nobody_s:.1f} s",
        )

    async def one_consumer_stalls(self) -> Outcome:
        cast = await self._ready(self._part("confluent-kafka", 2))
        slow = self.members[SLOW]
        slow.order("stall", STALL_S)
        await self.observations.until(lambda: slow.working, START_WITHIN_S, f"{SLOW} gets a batch")
        self._measure_from()
        other_members = {name: actor for name, actor in self.members.items() if actor is not slow} | cast
        await self._join(other_members, cast)
        outcome = self._outcome(
            "one consumer processes too long",
            f"kafka-python's consumer took {STALL_S} s over one batch: no member consumed for {{nobody_s:.1f}} s",
            problem=lambda nobody_s: (
                "" if nobody_s > MAX_POLL_INTERVAL_MS / 2_000 else f"consumption paused for {nobody_s:.1f} s only"
            ),
        )
        self.members.update(cast)
        await self._settled(EAGER, self.members)
        return outcome

    async def a_member_crashes(self) -> Outcome:
        victim = self._chance.choice(("aiokafka-2", "confluent-kafka-2"))
        lost = self.stage.owners(EAGER)[victim]
        self._measure_from()
        self.members.pop(victim).kill()
        await self._settled(EAGER, self.members)
        return self._outcome(
            "a member crashes",
            f"{victim} was killed: its {_partitions(lost)} lay still for {{partition_s:.1f}} s, "
            f"as its session timeout is {SESSION_TIMEOUT_MS / 1000:g} s",
            lost,
        )

    async def a_member_leaves(self) -> Outcome:
        leaver = next(name for name in self.members if name in ("aiokafka-2", "confluent-kafka-2"))
        lost = self.stage.owners(EAGER)[leaver]
        self._measure_from()
        await self._stop({leaver: self.members.pop(leaver)})
        await self._settled(EAGER, self.members)
        crash_s = self.outcomes[-1].partition_s
        return self._outcome(
            "a member leaves",
            f"{leaver} said goodbye: its {_partitions(lost)} lay still for {{partition_s:.1f}} s, "
            f"not for {crash_s:.1f} s",
            lost,
            problem=lambda _: "",
        )

    async def a_static_restart(self) -> Outcome:
        name = "confluent-kafka-1"
        cast = await self._ready(self._part("confluent-kafka", 1))
        owned = self.stage.owners(EAGER)
        generation = self._group.generation
        self._measure_from()
        await self._stop({name: self.members[name]})
        await self._join(self.members, cast)
        same = self.stage.owners(EAGER) == owned and self._group.generation == generation
        return self._outcome(
            "a static member restarts",
            f"{name} was away, its {_partitions(owned[name])} for {{partition_s:.1f}} s; nothing moved, "
            f"it is still generation {generation}",
            owned[name],
            problem=lambda _: "" if same else "the group was rebalanced",
        )

    async def a_cooperative_join(self) -> Outcome:
        parts = [self._part(library, 3, COOPERATIVE) for library in ("kafka-python", "confluent-kafka")]
        await self._join(self.cooperative, await self._ready(*parts), COOPERATIVE)
        await self.observations.until(self._caught_up(COOPERATIVE), SETTLE_WITHIN_S, f"{COOPERATIVE} catches up")
        cast = await self._ready(self._part("confluent-kafka", 4, COOPERATIVE))
        owners_before = self._owners(COOPERATIVE)
        began = self._measure_from(COOPERATIVE)
        await self._join(self.cooperative, cast, COOPERATIVE)
        after = self._owners(COOPERATIVE)
        kept = [number for number in after if after[number] == owners_before[number]]
        revoked = {
            number
            for at, _, partitions in self.observations.group(COOPERATIVE).revocations
            if at > began
            for number in partitions
        }
        moved = revoked.intersection(kept)
        outcome = self._outcome(
            "a cooperative member joins",
            f"{len(kept)} of {PARTITIONS} partitions stayed where they were, read on but for "
            + self._pauses(kept, after, began)
            + " (whose poll waits for the rejoin)",
            kept,
            group_id=COOPERATIVE,
            problem=lambda _: f"partitions that stayed were revoked: {sorted(moved)}" if moved else "",
        )
        await self._stop(self.cooperative)
        return outcome

    async def a_move(self) -> Outcome:
        parts = [self._part("confluent-kafka", number, MOVING) for number in (5, 6)]
        moved = await self._ready(*[replace(part, protocol="consumer") for part in parts])
        members: dict[str, Actor] = {}
        await self._join(members, await self._ready(*parts), MOVING)
        await self.observations.until(self._caught_up(MOVING), SETTLE_WITHIN_S, f"{MOVING} catches up")
        read_again = self.observations.group(MOVING).read_again()
        self._measure_from(MOVING)
        for name, actor in moved.items():
            await self._stop({name: members[name]})
            await self._join(members, {name: actor}, MOVING)
        read_twice = self.observations.group(MOVING).read_again() - read_again
        group = self.stage.consumer_group(MOVING)
        outcome = self._outcome(
            "a group changes its protocol",
            f"{len(moved)} consumers moved to the consumer protocol one after the other, while the group continued; "
            f"no partition was unread for longer than {{partition_s:.1f}} s, and {read_twice} records were read twice",
            group_id=MOVING,
            problem=lambda _: "" if group is not None and not group.classic_count else "it is not a consumer group",
        )
        await self._stop(members)
        return outcome

    async def everything_restarts(self) -> Outcome:
        cast = await self._ready(*[self._part(library, 1) for library in LIBRARIES])
        assert self.producer is not None
        self._measure_from()
        await self._stop(self.members | {"producer": self.producer})
        read_again = self._group.read_again()
        committed = self.stage.committed(EAGER)
        positions = [self._group.position(number) for number in range(PARTITIONS)]
        await self._start_producer(self.observations.produced)
        await self._join(self.members, cast)
        read_twice = self._group.read_again() - read_again
        return self._outcome(
            "everything restarts",
            f"the group continued at its committed offsets {min(committed)} to {max(committed)}; "
            f"{read_twice} records were read twice",
            problem=lambda _: "" if committed == positions else f"read up to {positions}, committed {committed}",
        )

    # Parts of acts

    @property
    def _group(self) -> GroupObservations:
        return self.observations.group(EAGER)

    def _part(self, library: str, number: int, group: str = EAGER) -> Part:
        name = f"{library}-{number}"
        return Part(
            name=name,
            library=library,
            bootstrap=self.stage.bootstrap,
            topic=TOPIC,
            group=group,
            instance=name if name == "confluent-kafka-1" else None,
            cooperative=group == COOPERATIVE,
            session_timeout_ms=MAX_POLL_INTERVAL_MS if name == "confluent-kafka-1" else SESSION_TIMEOUT_MS,
            heartbeat_interval_ms=HEARTBEAT_INTERVAL_MS,
            max_poll_interval_ms=MAX_POLL_INTERVAL_MS,
        )

    async def _ready(self, *parts: Part) -> dict[str, Actor]:
        """Start consumers and wait until their libraries are imported, so that no act measures imports."""
        cast = {
            part.name: await self.troupe.consumer(part, partial(self.observations.hear_worker, part.name, part.group))
            for part in parts
        }
        await self._until(lambda: all(actor.ready for actor in cast.values()), START_WITHIN_S, "consumers start")
        return cast

    async def _join(self, members: dict[str, Actor], cast: dict[str, Actor], group_id: str = EAGER) -> None:
        members.update(cast)
        for actor in cast.values():
            actor.order("join")
        await self._settled(group_id, members)

    async def _stop(self, actors: dict[str, Actor]) -> None:
        for actor in actors.values():
            actor.order("stop")
        everybody = list(actors.values())
        await self._until(lambda: all(process.ended for process in everybody), START_WITHIN_S, "consumers stop")
        for actor in everybody:
            if not actor.closed:
                raise PlayError(f"{actor.name} did not stop properly: {_last_words(actor)}")

    async def _start_producer(self, offsets: list[int]) -> None:
        def on_report(report: Report) -> None:
            self.observations.hear_worker("producer", "", report)

        self.producer = await self.troupe.producer(self.stage.bootstrap, TOPIC, self.seed, offsets, on_report)
        producer = self.producer
        await self._until(lambda: producer.ready, START_WITHIN_S, "the producer starts")
        producer.order("join")

    async def _settled(self, group_id: str, members: Collection[str]) -> None:
        """Wait until the group has exactly these members, is calm, and each partition was read since it is stable."""
        group, names = self.observations.group(group_id), set(members)

        def settled() -> bool:
            owners = self.stage.owners(group_id)
            return (
                group.state == "Stable"
                and owners.keys() == names
                and sum(map(len, owners.values())) == PARTITIONS
                and time.monotonic() - group.changed_at > CALM_S
                and all(moments and moments[-1] > group.changed_at for moments in group.read_at)
            )

        await self._until(settled, SETTLE_WITHIN_S, f"{group_id} settles with {', '.join(sorted(names))}")

    async def _until(self, condition: Callable[[], bool], within_s: float, expectation: str) -> None:
        def checked() -> bool:
            for actor in self.troupe.actors:
                if actor.vanished:
                    raise PlayError(f"{actor.name} ended by itself: {_last_words(actor)}")
            return condition()

        await self.observations.until(checked, within_s, expectation)

    def _caught_up(self, group_id: str) -> Callable[[], bool]:
        """Return a predicate that is true when the group has read all records that exist now."""
        produced, group = list(self.observations.produced), self.observations.group(group_id)
        return lambda: all(group.position(number) >= produced[number] for number in range(PARTITIONS))

    def _owners(self, group_id: str = EAGER) -> dict[int, str]:
        owners = self.stage.owners(group_id)
        return {number: name for name, partitions in owners.items() for number in partitions}

    def _pauses(self, kept: list[int], owners: dict[int, str], began: float) -> str:
        """Describe for each library the longest time in which partitions that it kept were not read."""
        group, now, pauses = self.observations.group(COOPERATIVE), time.monotonic(), []
        for library in ("confluent-kafka", "kafka-python"):
            partitions = [number for number in kept if owners[number].startswith(library)]
            pauses.append(f"{group.longest_wait(began, now, partitions):.1f} s in {library}")
        return " and ".join(pauses)

    def _leader(self) -> str:
        group = self.stage.group(EAGER)
        assert group is not None
        return next(member.client_id for member in group.members.values() if member.member_id == group.leader_id)

    def _measure_from(self, group_id: str = EAGER) -> float:
        self._since = time.monotonic(), self.observations.group(group_id).generation
        return self._since[0]

    def _outcome(
        self,
        title: str,
        headline: str,
        partitions: list[int] | None = None,
        *,
        group_id: str = EAGER,
        problem: Callable[[float], str] = lambda _: "",
    ) -> Outcome:
        """Measure from `_measure_from` until now.

        Args:
            partitions: Partitions whose longest silence counts, or None for all.
        """
        (began, generation), now, group = self._since, time.monotonic(), self.observations.group(group_id)
        nobody_s, partition_s = group.silence(began, now), group.longest_wait(began, now, partitions)
        return Outcome(
            title=title,
            headline=headline.format(nobody_s=nobody_s, partition_s=partition_s),
            rebalances=group.rebalances(generation),
            nobody_s=nobody_s,
            partition_s=partition_s,
            problem=problem(nobody_s),
        )

    async def _finish(self) -> None:
        """Stop the producer, then the consumers after they have read everything."""
        assert self.producer is not None
        await self._stop({"producer": self.producer})
        await self._until(self._caught_up(EAGER), SETTLE_WITHIN_S, "every record is consumed")
        await self._stop(self.members)


def _partitions(numbers: list[int]) -> str:
    return f"{len(numbers)} partition{'' if len(numbers) == 1 else 's'}"


def _last_words(actor: Actor) -> str:
    return actor.last_words[-1] if actor.last_words else "it printed nothing"
