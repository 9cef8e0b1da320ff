"""Random walks of share groups: the log contains the coordinator's state, and finally members converge."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kohort.coordinator.groups.deleting import delete_group
from kohort.coordinator.share.share_group import ShareGroup
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.share.share_group_world import ShareGroupWorld
from tests.support.effort import EFFORT
from tests.support.walking import walk_to_its_end

NAMES = ("foo", "bar", "baz")


def picture(group: ShareGroup) -> Any:
    """Return the logged state of a group, without the time since which partitions are being initialized."""
    members = {member.member_id: (member.metadata, member.current) for member in group.members.values()}
    epochs = group.epoch, group.metadata_hash, group.target_epoch, group.target_timestamp_ms
    return members, epochs, dict(group.targets), group.states.since(0), group.has_states


class Walk:
    """One walk, from a seed."""

    def __init__(self, seed: int, *, failing: bool) -> None:
        self.chance = chance = Random(seed)
        self.failing = failing
        self.world = ShareGroupWorld(interval_ms=chance.choice([0, 0, 2_000]), foo=chance.randint(1, 5), bar=2)
        self.members = [
            self.world.member(f"m{number}", names=chance.choice([("foo",), ("bar",), ("foo", "bar"), NAMES]))
            for number in range(chance.randint(1, 5))
        ]
        self.said: list[str] = []

    def step(self) -> None:
        """Perform a random step."""
        chance, world = self.chance, self.world
        member = chance.choice(self.members)
        what = chance.choices(
            ["act", "time", "leave", "crash", "change", "topic", "persister", "move", "admin", "hold"],
            [60, 12, 4, 3, 4, 3, 4, 2, 4, 4],
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
            case "change" if member.waiting is None:
                member.names, member.full = chance.choice([("foo",), ("bar",), NAMES]), True
            case "topic":
                self._changes_topic(chance.choice(NAMES))
            case "persister":
                self._changes_persister()
            case "move" if not world.held:
                world.restart()
            case "admin":
                self._administers()
            case "hold" if self.failing:
                world.holding = not world.holding
                while not world.holding and world.held:
                    world.write(chance.choice([E.none, E.not_enough_replicas]), count=1)

    def _changes_topic(self, name: str) -> None:
        topic = self.world.topics.by_name(name)
        if topic is not None and self.chance.random() < 0.4:
            self.world.loses_topic(name)
        else:
            self.world.topics.create(name, self.chance.randint(1, 3) + (0 if topic is None else topic.partitions))

    def _changes_persister(self) -> None:
        persister = self.world.persister
        persister.failing = self.chance.choice([E.none, E.coordinator_not_available])
        if persister.holding:
            persister.let_go(self.world.now_ms)
        else:
            persister.holding = self.chance.random() < 0.5
        self.world.settle()

    def _administers(self) -> None:
        name = self.chance.choice(NAMES)
        if self.world.topics.by_name(name) is None:
            return
        if self.chance.random() < 0.4:
            self.world.alters(name, {0: self.chance.randint(-2, 9)})
        elif self.chance.random() < 0.7:
            self.world.deletes(name)
        else:
            delete_group(self.world.coordinator, "g", self.world.now_ms, lambda error, _: None)
            self.world.settle()

    def check(self) -> None:
        """Check that replaying the log gives the coordinator's state, while no write is pending."""
        if self.world.held or self.world.coordinator.unwritten:
            return
        live = {group.group_id: picture(group) for group in self.world.coordinator.of_type("share")}
        for compact in (False, True):
            replayed = self.world.replayed(compact=compact).coordinator.of_type("share")
            assert {group.group_id: picture(group) for group in replayed} == live

    def ends(self) -> None:
        """End without failures: members converge, and all partitions of subscribed topics are assigned."""
        world = self.world
        world.failing, world.holding, world.persister.failing = E.none, False, E.none
        while world.held:
            world.write(E.none)
        world.persister.let_go(world.now_ms)
        world.settle()
        for _ in range(8):  # until pending requests are repeated, and lost members are removed
            for member in self.members:
                member.waiting = None
                member.acts()
            world.after(6_000)
        world.rests(*self.members)
        self.check()
        for name in {name for member in self.members for name in member.names}:
            topic = world.topics.by_name(name)
            given = [member.partitions(name) for member in self.members] if topic is not None else []
            assert topic is None or set().union(*given) == set(range(topic.partitions))


@pytest.mark.parametrize("failing", [False, True])
@pytest.mark.parametrize("seed", range(EFFORT.walks))
def test_random_share_group_stabilizes(seed: int, failing: bool) -> None:
    walk_to_its_end(Walk(seed, failing=failing), f"seed {seed}, failing={failing}")
