"""What holds for consumer groups, whatever happens."""

from tests.coordinator.consumer.world import ConsumerWorld


def holds(world: ConsumerWorld) -> None:
    """At every moment: a partition has one owner, epochs are in order, and a group is of one kind."""
    for group in world.coordinator.consumer_groups.values():
        owners: dict[object, str] = {}
        for member_id, member in group.members.items():
            for owned in (member.current.assigned, member.current.revoking):
                for topic_id, partitions in owned.items():
                    for partition in partitions:
                        assert owners.setdefault((topic_id, partition), member_id) == member_id, "two owners"
        assert owners == group.owners
        assert group.target_epoch <= group.epoch
        assert all(member.current.epoch <= group.target_epoch for member in group.members.values())
        assert group.targets.keys() <= group.members.keys(), "a target of nobody"
    assert not world.coordinator.consumer_groups.keys() & world.coordinator.groups.keys()


def log_and_coordinator_agree(world: ConsumerWorld, *, but_for_classic: bool = False) -> None:
    """When nothing is being written: who loads the log knows what the coordinator knows.

    `but_for_classic`: what a classic group shows while writes fail is looked at in tests/coordinator/test_appends.py.
    """
    live = world.picture()
    for compact in (False, True):
        replayed = world.replayed(compact=compact).picture()
        assert replayed.keys() <= live.keys(), f"{replayed.keys() - live.keys()} is in the log only"
        for group_id, state in live.items():
            if but_for_classic and group_id in world.coordinator.groups:
                continue
            if state is not None:
                assert replayed.get(group_id) == state, f"{group_id} is not in the log as it is"
