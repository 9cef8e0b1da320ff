"""A write fails, a coordinator moves or is killed: in each step of an upgrade, a downgrade, a reconciliation.

Each story is played once for each step and each failure. No partition is ever consumed by two members, the log contains
the coordinator's state, and the final state does not depend on the failure.
"""

from collections.abc import Callable, Iterable
from itertools import cycle, islice
from typing import NamedTuple

import pytest

from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.consumer.promises import log_and_coordinator_agree
from tests.coordinator.consumer.world import Actor, ConsumerWorld
from tests.support.consumer_groups import one_owner_each
from tests.support.coordinator_records import keyed

Step = Callable[[], object]


class Story(NamedTuple):
    """A world before an event, its final members, and the steps."""

    world: ConsumerWorld
    actors: list[Actor]
    steps: list[Step]
    ends_as: str  # the group's protocol at the end


def _in_turn(count: int, *actors: Actor) -> Iterable[Step]:
    return (actor.acts for actor in islice(cycle(actors), count))


def a_reconciliation() -> Story:
    """Let bob and then eve join a group of ada's."""
    world = ConsumerWorld(foo=6)
    ada, bob, eve = world.consumer("ada"), world.consumer("bob", instance="i-bob"), world.consumer("eve")
    world.converges(ada)
    return Story(world, [ada, bob, eve], [*_in_turn(6, bob, ada), *_in_turn(12, eve, ada, bob)], "consumer")


def an_upgrade(*, cooperative: bool) -> Story:
    """Let a consumer member join two classic ones, and replace one of these."""
    world = ConsumerWorld(foo=6)
    ada = world.classic("ada", cooperative=cooperative)
    bob = world.classic("bob", cooperative=cooperative, instance="i-bob")
    world.converges(ada, bob)
    cem = world.consumer("cem")
    bob_again = world.consumer("bob-again", instance="i-bob")
    steps = [*_in_turn(12, cem, ada, bob), bob.forgets, *_in_turn(9, bob_again, ada, cem)]
    return Story(world, [ada, cem, bob_again], steps, "consumer")


def a_downgrade(*, cooperative: bool) -> Story:
    """Let the last consumer member leave a group with two classic ones."""
    world = ConsumerWorld(foo=6)
    ada = world.classic("ada", cooperative=cooperative)
    bob = world.classic("bob", cooperative=cooperative)
    cem = world.consumer("cem")
    world.converges(cem, ada, bob)

    def leaves() -> None:
        if cem.epoch > 0:
            ticket = cem.leaves()
            if ticket.answers and ticket.error is not E.none:
                cem.leaves()  # a client retries once
            cem.forgets()

    return Story(world, [ada, bob], [leaves, *_in_turn(12, ada, bob)], "classic")


STORIES: dict[str, Callable[[], Story]] = {
    "a reconciliation": a_reconciliation,
    "an upgrade of eager members": lambda: an_upgrade(cooperative=False),
    "an upgrade of cooperative members": lambda: an_upgrade(cooperative=True),
    "a downgrade to eager members": lambda: a_downgrade(cooperative=False),
    "a downgrade to cooperative members": lambda: a_downgrade(cooperative=True),
}


# What goes wrong in a step


def a_write_fails(world: ConsumerWorld, step: Step) -> None:
    world.failing = E.not_enough_replicas
    step()
    world.failing = E.none


def the_coordinator_moves(world: ConsumerWorld, step: Step) -> None:
    """Complete and answer everything, then move the coordinator."""
    step()
    world.restart()


def the_coordinator_is_killed_before_it_writes(world: ConsumerWorld, step: Step) -> None:
    _is_killed(world, step, written=False)


def the_coordinator_is_killed_before_it_answers(world: ConsumerWorld, step: Step) -> None:
    _is_killed(world, step, written=True)


def _is_killed(world: ConsumerWorld, step: Step, *, written: bool) -> None:
    world.holding = True
    step()
    world.holding = False
    held, world.held = world.held, []
    for append in held:
        if written:
            world.log[append.partition] += keyed(append.records)
    world.restart()


TROUBLES = (
    a_write_fails,
    the_coordinator_moves,
    the_coordinator_is_killed_before_it_writes,
    the_coordinator_is_killed_before_it_answers,
)
CASES = [(name, number) for name, story in STORIES.items() for number in range(len(story().steps))]


@pytest.mark.parametrize("trouble", TROUBLES, ids=[trouble.__name__ for trouble in TROUBLES])
@pytest.mark.parametrize(("name", "number"), CASES, ids=[f"{name}, step {number}" for name, number in CASES])
def test_partitions_have_exactly_one_owner(
    name: str, number: int, trouble: Callable[[ConsumerWorld, Step], None]
) -> None:
    world, actors, steps, ends_as = STORIES[name]()
    # What comes before the trouble is the same in all cases of a story: it is looked at where that is all but the end.
    undisturbed = number == len(steps) - 1
    for each, step in enumerate(steps):
        if each == number:
            trouble(world, step)
        else:
            step()
        world.settle()
        if each >= number or undisturbed:
            _holds(world, actors)
    world.after(11_000)  # who left, and could not say so, is missed
    world.converges(*actors, step_ms=1_000, rest=15)
    _holds(world, actors)
    owned = [partition for actor in actors for partition in actor.owned]
    assert len(owned) == len(set(owned)) == 6
    assert all(len(actor.owned) == 6 // len(actors) for actor in actors)
    assert (world.coordinator.consumer_group("g") is not None) is (ends_as == "consumer")
    assert (world.coordinator.classic_group("g") is not None) is (ends_as == "classic")


def _holds(world: ConsumerWorld, actors: Iterable[Actor]) -> None:
    one_owner_each(world.coordinator)
    log_and_coordinator_agree(world, but_for_classic=True)
    group = world.coordinator.consumer_group("g")
    owners: dict[object, Actor] = {}
    for actor in actors if group is not None else ():
        if group is not None and actor.member_id in group.members:
            for partition in actor.owned:
                assert owners.setdefault(partition, actor) is actor, (
                    f"{owners[partition]} and {actor} both consume {partition}"
                )
