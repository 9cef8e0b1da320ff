"""Loads the APIs of consumers and producers before they are asked for, whenever nobody is served.

The first request of an API loads its modules, and the first of a version makes its reader: some milliseconds, in which
everybody else waits. In a broker that has nothing to do that is done ahead, a piece at a time, in the order in which a
consumer asks, from what has been asked for on: who has joined syncs next. Who comes meanwhile waits for one piece at
most, and while somebody is served nothing is loaded.
"""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING, Any, Protocol

from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Sequence

EVERY_S = 0.01
"""How often a look is taken at how much the process has worked."""

AT_REST_S = 0.0005
"""A process that has worked less than this since the last look is at rest."""

ASKED_FIRST = (
    "api_versions",
    "metadata",
    "find_coordinator",
    "join_group",
    "sync_group",
    "offset_fetch",
    "list_offsets",
    "fetch",
    "heartbeat",
    "offset_commit",
    "leave_group",
    "init_producer_id",
    "produce",
)
"""What consumers and producers ask for, in this order. What others ask for is loaded when they do."""

ASKED_TOGETHER = frozenset(("join_group", "sync_group", "offset_fetch", "heartbeat", "offset_commit", "leave_group"))
"""What all members of a group ask for at once. Of these the newest version is made ready, too: 50 to 150 KiB each."""


class Apis(Protocol):
    """Where an API is loaded when somebody looks for it."""

    @property
    def loaded(self) -> dict[int, Any]:
        """Those that somebody has looked for, by key; the newest comes last."""
        ...

    def find(self, key: int) -> Any:
        """The API of that key; None where it is not served."""
        ...


class LoadingAhead:
    """Looks now and then, and loads a piece at rest, until all is loaded."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        registry: Apis,
        worked_s: Callable[[], float] = process_time,
    ) -> None:
        """`worked_s`: the processor time that the process has used."""
        self._loop = loop
        self._pieces = _pieces(registry)
        self._worked_s = worked_s
        self._seen_s = worked_s()

    def wait(self) -> None:
        """Looks EVERY_S from now."""
        self._loop.call_later(EVERY_S, self._look)

    def _look(self) -> None:
        if self._worked_s() - self._seen_s < AT_REST_S and next(self._pieces, None) is None:
            return
        self._seen_s = self._worked_s()
        self.wait()


def _pieces(registry: Apis) -> Iterator[str]:
    """Yields an API's name after each piece of it that is loaded: its messages, its handler, perhaps a version."""
    left = list(ASKED_FIRST)
    while left:
        name = _next(left, registry)
        left.remove(name)
        message = message_of(name)
        yield name
        api = registry.find(API_BY_NAME[name].key)
        yield name
        if api is not None and name in ASKED_TOGETHER:
            message.prepare(api.highest)
            yield name


def _next(left: Sequence[str], registry: Apis) -> str:
    """The first of those that are left behind the API that was loaded last; behind the last one the first again."""
    newest = next((api.spec.name for api in reversed(registry.loaded.values())), None)
    if newest not in ASKED_FIRST:
        return left[0]
    behind = ASKED_FIRST[ASKED_FIRST.index(newest) + 1 :]
    return next((name for name in behind if name in left), left[0])
