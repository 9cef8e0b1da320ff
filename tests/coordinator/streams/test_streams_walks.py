"""Random walks of streams groups: the log contains the coordinator's state, tasks have one owner, members converge."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from kohort.coordinator.groups.deleting import delete_group
from kohort.coordinator.streams import streams_heartbeating
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.streams.streams_group_world import StreamsGroupWorld, reading
from tests.support.effort import EFFORT
from tests.support.streams_groups import one_active_owner_each, picture_of
from tests.support.walking import walk_to_its_end


class Walk:
    """One walk, from a seed."""

    def __init__(self, seed: int, *, failing: bool) -> None:
        self.chance = chance = Random(seed)
        self.failing = failing
        delay_ms = chance.choice([0, 0, 2_000])
        self.world = StreamsGroupWorld(
            interval_ms=chance.choice([0, 0, 2_000]), delay_ms=delay_ms, foo=chance.randint(1, 5), bar=2
        )
        topology = chance.choice([reading("foo"), reading("foo", "bar", stores=["s"])])
        self.members = [
            self.world.member(f"m{number}", topology=topology, process_id=f"p{chance.randint(0, 2)}")
            for number in range(chance.randint(1, 5))
        ]
        self.said: list[str] = []

    def step(self) -> None:
        """Perform a random step."""
        chance, world = self.chance, self.world
        member = chance.choice(self.members)
        what = chance.choices(
            ["act", "time", "leave", "crash", "change", "topic", "standby", "move", "delete", "hold", "stop"],
            [60, 12, 4, 3, 4, 3, 3, 2, 2, 4, 1],
        )[0]
        self.said.append(f"{world.now_ms} {member.name} {what}")
        match what:
            case "act":
                member.acts()
            case "time":
                world.after(chance.choice([1, 100, 1_000, 4_000, 11_000]))
            case "leave" if member.waiting is None:
                member.leaves()
            case "crash":
                member.forgets()
            case "change" if member.waiting is None and member.epoch:
                member.beats(rack_id=chance.choice(["r1", "r2"]), rebalance_timeout_ms=chance.choice([1_000, 5_000]))
            case "stop" if member.waiting is None and member.epoch:
                member.beats(shutdown_application=True)
            case "topic":
                self._changes_topic(chance.choice(["foo", "bar", "s"]))
            case "standby":
                world.config = world.config._replace(num_standby_replicas=chance.randint(0, 2))
            case "move" if not world.held:
                world.restart()
            case "delete":
                delete_group(world.coordinator, "g", world.now_ms, lambda error, _: None)
                world.settle()
            case "hold" if self.failing:
                world.holding = not world.holding
                while not world.holding and world.held:
                    world.write(chance.choice([E.none, E.not_enough_replicas]), count=1)

    def _changes_topic(self, name: str) -> None:
        topic = self.world.topics.by_name(name)
        if topic is not None and self.chance.random() < 0.4:
            self.world.topics.delete(name)
        elif name != "s":
            self.world.topics.create(name, self.chance.randint(1, 2) + (0 if topic is None else topic.partitions))

    def check(self) -> None:
        """Check that replaying the log gives the coordinator's state, while no write is pending."""
        one_active_owner_each(self.world.coordinator)
        if self.world.held or self.world.coordinator.unwritten:
            return
        live = {group.group_id: picture_of(group) for group in self.world.coordinator.of_type("streams")}
        for compact in (False, True):
            replayed = self.world.replayed(compact=compact).coordinator.of_type("streams")
            assert {group.group_id: picture_of(group) for group in replayed} == live

    def ends(self) -> None:
        """End without failures: members converge, and every task has one owner."""
        world = self.world
        world.failing, world.holding = E.none, False
        while world.held:
            world.write(E.none)
        world.settle()
        for name, least in (("foo", 1), ("bar", 2)):
            if world.topics.by_name(name) is None:
                world.topics.create(name, least)
        if world.topics.by_name("s") is not None:
            world.topics.delete("s")  # it need not fit any more; the broker makes another one
        for _ in range(8):  # who is gone is put out
            for member in self.members:
                member.waiting = None
                member.acts()
            world.after(6_000)
        world.rests(*self.members)
        self.check()
        self._check_all_given()

    def _check_all_given(self) -> None:
        topics = [self.world.topics.by_name(name) for name in self.members[0].topology.subtopologies[0].source_topics]
        tasks = max(topic.partitions for topic in topics if topic is not None)
        given = Counter(item for member in self.members for item in member.active.get("0", set()))
        assert given == Counter(range(tasks))


@pytest.mark.parametrize("seed", range(EFFORT.walks // 3))
def test_short_path_equals_long_path(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    short = Walk(seed, failing=False)
    walk_to_its_end(short, f"seed {seed}")
    monkeypatch.setattr(streams_heartbeating, "find_unchanged", lambda *_: None)
    long = Walk(seed, failing=False)
    walk_to_its_end(long, f"seed {seed}")
    assert short.world.log == long.world.log
    for short_member, long_member in zip(short.members, long.members, strict=True):
        assert [ticket.heard for ticket in short_member.tickets] == [ticket.heard for ticket in long_member.tickets]


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("seed", range(EFFORT.walks))
def test_random_streams_group_stabilizes(seed: int, failing: bool) -> None:
    walk_to_its_end(Walk(seed, failing=failing), f"seed {seed}, failing={failing}")
