"""Invariants of consumer groups."""

from typing import Any

from tests.coordinator.consumer.world import ConsumerWorld
from tests.support.consumer_groups import may_be_forgotten, outdated_in_log, picture


def log_and_coordinator_agree(world: ConsumerWorld, *, but_for_classic: bool = False) -> None:
    """Check that replaying the log gives the coordinator's state, while no write is pending.

    Args:
        but_for_classic: A classic group while writes fail is checked in tests/coordinator/test_appends.py instead.
    """
    live = picture(world.coordinator)
    for compact in (False, True):
        replayed = picture(world.replayed(compact=compact).coordinator)
        alone = {
            name for name in replayed.keys() - live.keys() if not may_be_forgotten(world.coordinator, replayed[name])
        }
        assert not alone, f"{alone} is in the log only"
        for group_id, state in live.items():
            if but_for_classic and world.coordinator.classic_group(group_id) is not None:
                continue
            if state is not None:
                old = outdated_in_log(world.coordinator, state)
                in_log = replayed.get(group_id) or {}
                assert without(in_log, old) == without(state, old), f"{group_id} is not in the log as it is"


def without(state: dict[str, Any], parts: set[str]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name not in parts}
