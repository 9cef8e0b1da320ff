"""The proxy's own requests about groups: each coordinator describes its groups."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kohort.client.group_describing import describe_api, describe_request
from kohort.coordinator.classic.states import State
from kohort.groups.type_words import GROUP_TYPES
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest

if TYPE_CHECKING:
    from kohort.proxy.asking import Reaches
    from kohort.proxy.cluster_side import ClusterSide

FIRST_WITH_MANY: Final = 4
"""First version of FindCoordinator in which one request may name several groups."""

MAX_GROUPS_PER_REQUEST: Final = 10
"""Groups per request; the response is read in one piece."""

_TEMPORARY_ERRORS: Final = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.group_id_not_found,
)
"""Temporary errors: the group is moving, or has a different type by now."""


class GroupAnswer(NamedTuple):
    """Description of a group by the cluster."""

    described: Any
    """Element of the Describe… response for the group type, or None if `refusal` is the reason."""
    refusal: str = ""  # the reason, to follow a colon
    is_unreachable: bool = False  # whether no coordinator was reachable, which may be temporary


async def group_answers(server: Reaches, group_types: Mapping[str, str]) -> dict[str, GroupAnswer]:
    """Return the coordinators' descriptions of groups, without those that move or that their coordinator does not have.

    Args:
        group_types: Group types by group id.

    Raises:
        OSError: No node returns the coordinators.
    """
    coordinators = await _coordinators(server, list(group_types))
    answers: dict[str, GroupAnswer] = {}
    led: dict[tuple[str, int], dict[str, str]] = {}
    for group_id, coordinator in coordinators:
        if coordinator.error_code is ErrorCode.none:
            led.setdefault((coordinator.host, coordinator.port), {})[group_id] = group_types[group_id]
        elif coordinator.error_code not in _TEMPORARY_ERRORS:
            answers[group_id] = GroupAnswer(None, coordinator.error_code.name.upper())
    for descriptions in await asyncio.gather(
        *(_answers_of(server, address, led_types) for address, led_types in led.items())
    ):
        answers |= descriptions
    return answers


async def _coordinators(server: Reaches, group_ids: list[str]) -> list[tuple[str, Coordinator]]:
    coordinators: list[tuple[str, Coordinator]] = []
    with closing(await server.side_for_questions()) as first:
        at_once = len(group_ids) if first.version("find_coordinator") >= FIRST_WITH_MANY else 1
        for some_ids in _pieces(group_ids, at_once):
            answer = await first.call("find_coordinator", FindCoordinatorRequest(coordinator_keys=some_ids))
            coordinators += zip(some_ids, answer.coordinators, strict=False)
    return [
        (coordinator.key or group_id, coordinator)
        for group_id, coordinator in coordinators
        if (coordinator.key or group_id) in group_ids
    ]


async def _answers_of(
    server: Reaches, address: tuple[str, int], group_types: Mapping[str, str]
) -> dict[str, GroupAnswer]:
    """Return the descriptions by one coordinator; the error for groups that it could not describe."""
    descriptions: dict[str, GroupAnswer] = {}
    try:
        with closing(await server.side_for_questions(address)) as coordinator:
            for group_type in GROUP_TYPES:
                group_ids = [group_id for group_id in group_types if group_types[group_id] == group_type]
                for some_ids in _pieces(group_ids, MAX_GROUPS_PER_REQUEST):
                    descriptions |= await _described(coordinator, group_type, some_ids)
    except OSError as error:
        return {group_id: unreachable(error) for group_id in group_types} | descriptions
    return descriptions


async def _described(coordinator: ClusterSide, group_type: str, group_ids: tuple[str, ...]) -> dict[str, GroupAnswer]:
    api = describe_api(group_type)
    if not coordinator.speaks(api):
        return dict.fromkeys(group_ids, GroupAnswer(None, f"it cannot describe {group_type} groups"))
    answer = await coordinator.call(api, describe_request(group_type, group_ids))
    return {
        group.group_id: _answer(group) for group in answer.groups if group.group_id in group_ids and _is_there(group)
    }


def _is_there(described: Any) -> bool:
    return described.error_code not in _TEMPORARY_ERRORS and described.group_state != State.DEAD.value


def _answer(described: Any) -> GroupAnswer:
    error: ErrorCode = described.error_code
    return GroupAnswer(described) if error is ErrorCode.none else GroupAnswer(None, error.name.upper())


def unreachable(error: OSError) -> GroupAnswer:
    """Return the description of a group whose coordinator can't be reached."""
    return GroupAnswer(None, str(error) or "no answer", is_unreachable=True)


def _pieces(group_ids: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(group_ids), size):
        yield tuple(group_ids[start : start + size])
