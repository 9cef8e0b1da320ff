"""A random walk: clients of both protocols, writes that fail, coordinators that move, topics that change."""

from __future__ import annotations

from random import Random
from typing import Any

from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.consumer.promises import log_and_coordinator_agree
from tests.coordinator.consumer.world import Actor, Consumer, ConsumerWorld
from tests.support.consumer_groups import left_to_nobody, one_owner_each, vote_alike


class Walk:
    """One walk, from a seed."""

    def __init__(self, seed: int, *, failing: bool) -> None:
        self.chance = chance = Random(seed)
        self.failing = failing
        interval_ms = chance.choice([0, 0, 300])
        self.world = ConsumerWorld(interval_ms=interval_ms, foo=chance.randint(1, 7), bar=chance.randint(1, 4))
        self.actors = [self._actor(number) for number in range(chance.randint(1, 6))]
        self.said: list[str] = []
        self.told: set[str] = set()  # members of the group according to events
        # whether events are in order: a classic group does not wait for the record that ends the consumer group
        self.in_order = True
        self.world.listen()

    def _actor(self, number: int) -> Actor:
        chance = self.chance
        instance = f"i{number}" if chance.random() < 0.3 else None
        if chance.random() < 0.4:
            names = ("foo",) if chance.random() < 0.7 else ("foo", "bar")
            cooperative = chance.random() < 0.5
            return self.world.classic(f"c{number}", instance=instance, names=names, cooperative=cooperative)
        traits: dict[str, Any] = {"names": chance.choice([("foo",), ("foo", "bar"), ("bar",), ("foo",)])}
        if chance.random() < 0.2:
            traits = {"names": (), "regex": chance.choice(["foo.*", ".*"])}
        assignor = chance.choice([None, None, "range", "uniform"])
        return self.world.consumer(f"m{number}", instance=instance, assignor=assignor, **traits)

    def step(self) -> None:
        """Perform a random step."""
        chance, world = self.chance, self.world
        actor = chance.choice(self.actors)
        what = chance.choices(
            ["act", "time", "leave", "crash", "step out", "change", "topic", "hold", "move", "swap", "delete"],
            [60, 12, 3, 2, 3, 3, 2, 6, 1, 3, 0.5],
        )[0]
        self.said.append(f"{world.now_ms} {actor.name} {what}")
        match what:
            case "act":
                actor.acts()
            case "time":
                world.after(chance.choice([1, 100, 100, 1_000, 1_000, 4_000, 11_000]))
            case "leave" if actor.waiting is None:
                actor.leaves()
                actor.forgets()
            case "crash":
                actor.forgets()
                if isinstance(actor, Consumer):
                    actor.member_id = f"{actor.name}-id{chance.randrange(1000)}"
            case "step out" if isinstance(actor, Consumer) and actor.instance and actor.waiting is None:
                actor.steps_out()
                actor.forgets()
                actor.member_id = f"{actor.name}-id{chance.randrange(1000)}"
            case "change" if isinstance(actor, Consumer) and actor.regex is None and actor.waiting is None:
                actor.names = chance.choice([("foo",), ("foo", "bar"), ("bar",)])
                actor.is_full = True
            case "topic":
                self._topic()
            case "hold":
                self._hold()
            case "move":
                held, world.held = world.held, []
                for append in held:
                    world.log[append.partition] += list(append.records)  # type: ignore[arg-type]
                world.holding = False
                world.restart()
                self.told = self._members()  # a group that is loaded is taken as it stands
                self.in_order = True
                world.events.clear()
            case "swap":
                self._swap(actor)
            case "delete":
                world.deletes_group()
        world.settle()

    def _topic(self) -> None:
        topics = self.world.topics
        known = topics.by_name("foo2")
        if known is None:
            topics.create("foo2", 2)
        elif self.chance.random() < 0.5:
            topics.delete("foo2")
        else:
            foo = topics.by_name("foo")
            assert foo is not None
            topics.create("foo", foo.partitions + 1)

    def _hold(self) -> None:
        world, chance = self.world, self.chance
        if not world.holding:
            world.holding = True
            return
        while world.held and chance.random() < 0.8:
            fails = self.failing and chance.random() < 0.4
            world.write(E.not_enough_replicas if fails else E.none, count=1)
        if chance.random() < 0.5:
            self.write_all()

    def write_all(self) -> None:
        """Complete all pending writes."""
        while self.world.held:
            self.world.write(E.none, count=1)
        self.world.holding = False

    def _swap(self, actor: Actor) -> None:
        """Restart a client with the other protocol, under the same instance id if it has one."""
        if actor.waiting is not None:
            return
        if not actor.instance or self.chance.random() < 0.5:
            actor.leaves()
        position = self.actors.index(actor)
        name = f"{actor.name.split('/')[0]}/{self.chance.randrange(1000)}"
        if isinstance(actor, Consumer):
            names = actor.names or ("foo",)
            self.actors[position] = self.world.classic(name, instance=actor.instance, names=names)
        else:
            self.actors[position] = self.world.consumer(name, instance=actor.instance, names=actor.names)

    # What must hold

    def _members(self) -> set[str]:
        coordinator = self.world.coordinator
        classic, group = coordinator.classic_group("g"), coordinator.consumer_group("g")
        return {*(() if classic is None else classic.members), *(() if group is None else group.members)}

    def _hear(self) -> None:
        """Apply events to the expected members."""
        for event in self.world.events:
            assert event.member_id is not None or not event.kind.startswith("member_")
            if event.kind in ("member_added", "member_replaced"):
                self.told.add(event.member_id or "")
            gone = event.detail["old_member_id"] if event.kind == "member_replaced" and event.detail else None
            if gone not in (None, event.member_id):
                self.told.remove(gone or "")
            if event.kind == "member_removed":
                self.told.remove(event.member_id or "")
            if event.kind == "group_reconciled":
                assert event.state_to in ("Stable", "Empty")
        self.world.events.clear()

    def check(self) -> None:
        """Check the invariants after each step."""
        one_owner_each(self.world.coordinator)
        if not self.world.held:
            log_and_coordinator_agree(self.world, but_for_classic=self.failing)
        elif self.world.coordinator.classic_group("g") is not None:
            self.in_order = False
        if not self.failing and self.in_order:
            self._hear()
            assert self.world.held or self.told == self._members(), (
                f"{self.told} are known from events, not {self._members()}"
            )

    def ends(self) -> None:
        """End without failures: members converge, and partitions have one owner each, as far as in Kafka."""
        world = self.world
        self.write_all()
        self.check()
        vote_alike(
            world.coordinator.consumer_group("g"), (actor for actor in self.actors if isinstance(actor, Consumer))
        )
        world.converges(*self.actors, step_ms=1_000, rest=35)  # longer than any timeout
        self.check()
        shares = [actor.owned for actor in self.actors]
        owned = [item for share in shares for item in share]
        assert len(owned) == len(set(owned)), "two owners"
        wanted = set()
        for actor in self.actors:
            regex = getattr(actor, "regex", None)
            for name in world.topics.names():
                if name in actor.names or (regex and (regex == ".*" or name.startswith("foo"))):
                    topic = world.topics.by_name(name)
                    assert topic is not None
                    wanted |= {(topic.topic_id, number) for number in range(topic.partitions)}
        if world.coordinator.of_type("consumer"):
            missing = wanted - set(owned)
            assert wanted >= set(owned)
            assert missing == left_to_nobody(world.consumer_group, missing), "a partition without an owner"
            assert world.consumer_group.state.value == "Stable"
        for actor in self.actors:
            assert all(ticket.answers == 1 for ticket in actor.tickets[-1:])
