"""Questions of the proxy's own about groups: each coordinator describes those that it looks after."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kohort.client.group_describing import DESCRIBING
from kohort.coordinator.classic.states import State
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest

if TYPE_CHECKING:
    from kohort.proxy.asking import Reaches
    from kohort.proxy.cluster_side import ClusterSide

FIRST_WITH_MANY: Final = 4
"""The version of FindCoordinator from which on one request may name several groups."""

MOST_AT_ONCE: Final = 10
"""Groups that one request asks for: their answer is read in one piece."""

_NOTHING_SAID: Final = (
    ErrorCode.not_coordinator,
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.group_id_not_found,
)
"""Errors that pass: the group moves, or is of another kind by now."""


class GroupAnswer(NamedTuple):
    """What the cluster says of a group."""

    described: Any
    """The element of the kind's Describe… response; None: there is none, and `refusal` says why."""
    refusal: str = ""
    """Why, in words that go on behind a colon."""
    is_away: bool = False
    """Whether nobody was there to ask, which may end soon."""


async def group_answers(server: Reaches, wanted: Mapping[str, str]) -> dict[str, GroupAnswer]:
    """What coordinators say of groups. `wanted`: their kinds, by their ids.

    Groups that move, or that their coordinator does not have, are left out.
    Raises OSError where no node says who coordinates them.
    """
    coordinators = await _coordinators(server, list(wanted))
    answers: dict[str, GroupAnswer] = {}
    led: dict[tuple[str, int], dict[str, str]] = {}
    for group_id, each in coordinators:
        if each.error_code is ErrorCode.none:
            led.setdefault((each.host, each.port), {})[group_id] = wanted[group_id]
        elif each.error_code not in _NOTHING_SAID:
            answers[group_id] = GroupAnswer(None, each.error_code.name.upper())
    for found in await asyncio.gather(*(_answers_of(server, address, those) for address, those in led.items())):
        answers |= found
    return answers


async def _coordinators(server: Reaches, group_ids: list[str]) -> list[tuple[str, Coordinator]]:
    found: list[tuple[str, Coordinator]] = []
    with closing(await server.side_for_questions()) as first:
        at_once = len(group_ids) if first.version("find_coordinator") >= FIRST_WITH_MANY else 1
        for those in _pieces(group_ids, at_once):
            answer = await first.asks("find_coordinator", FindCoordinatorRequest(coordinator_keys=those))
            found += zip(those, answer.coordinators, strict=False)
    return [(each.key or asked, each) for asked, each in found if (each.key or asked) in group_ids]


async def _answers_of(server: Reaches, address: tuple[str, int], wanted: Mapping[str, str]) -> dict[str, GroupAnswer]:
    """What one coordinator says; of groups for which it is not there, that."""
    found: dict[str, GroupAnswer] = {}
    try:
        with closing(await server.side_for_questions(address)) as coordinator:
            for kind in DESCRIBING:
                group_ids = [each for each in wanted if wanted[each] == kind]
                for those in _pieces(group_ids, MOST_AT_ONCE):
                    found |= await _described(coordinator, kind, those)
    except OSError as problem:
        return {each: away(problem) for each in wanted} | found
    return found


async def _described(coordinator: ClusterSide, kind: str, group_ids: tuple[str, ...]) -> dict[str, GroupAnswer]:
    api, asking = DESCRIBING[kind]
    if not coordinator.speaks(api):
        return dict.fromkeys(group_ids, GroupAnswer(None, f"it describes no {kind} groups"))
    answer = await coordinator.asks(api, asking(group_ids))
    return {each.group_id: _answer(each) for each in answer.groups if each.group_id in group_ids and _is_there(each)}


def _is_there(described: Any) -> bool:
    return described.error_code not in _NOTHING_SAID and described.group_state != State.DEAD.value


def _answer(described: Any) -> GroupAnswer:
    error: ErrorCode = described.error_code
    return GroupAnswer(described) if error is ErrorCode.none else GroupAnswer(None, error.name.upper())


def away(problem: OSError) -> GroupAnswer:
    """The answer for a group that nobody can be asked about."""
    return GroupAnswer(None, str(problem) or "no answer", is_away=True)


def _pieces(group_ids: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(group_ids), size):
        yield tuple(group_ids[start : start + size])
