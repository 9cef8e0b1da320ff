"""Preloading of the APIs of consumers and producers while the broker is idle.

The first request of an API loads its modules, and the first of a version creates its reader: some milliseconds, in
which all other clients wait. An idle broker does that ahead of time, piece by piece, in the order of a consumer's
requests, starting after the API requested last: a member that has joined will sync. A request that arrives meanwhile
waits for at most one piece, and nothing is loaded while requests are handled.
"""

from __future__ import annotations

from time import process_time
from typing import TYPE_CHECKING, Any, Protocol

from kohort.protocol.api_keys import API_BY_NAME
from kohort.protocol.messages import message_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator, Sequence

EVERY_S = 0.01  # interval of the checks whether the process is idle

AT_REST_S = 0.0005  # a process that used less processor time since the last check is idle

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
)  # The APIs that consumers and producers call, in their order. Other APIs are loaded when they are called.

# APIs that all members of a group call at once. Their newest version is prepared, too: 50 to 150 KiB each.
ASKED_TOGETHER = frozenset(("join_group", "sync_group", "offset_fetch", "heartbeat", "offset_commit", "leave_group"))


class Apis(Protocol):
    """A registry that loads an API when it is looked up."""

    @property
    def loaded(self) -> dict[int, Any]:
        """APIs that have been looked up, by key; the newest comes last."""
        ...

    def find(self, key: int) -> Any: ...


class LoadingAhead:
    """A timer that loads one piece whenever the process is idle, until all are loaded."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        registry: Apis,
        worked_s: Callable[[], float] = process_time,
    ) -> None:
        """Prepare preloading.

        Args:
            worked_s: Returns the processor time that the process has used.
        """
        self._loop = loop
        self._pieces = _pieces(registry)
        self._worked_s = worked_s
        self._seen_s = worked_s()

    def wait(self) -> None:
        self._loop.call_later(EVERY_S, self._look)

    def _look(self) -> None:
        if self._worked_s() - self._seen_s < AT_REST_S and next(self._pieces, None) is None:
            return
        self._seen_s = self._worked_s()
        self.wait()


def _pieces(registry: Apis) -> Iterator[str]:
    """Yield an API's name after each piece that was loaded: its messages, its handler, perhaps a version."""
    remaining = list(ASKED_FIRST)
    while remaining:
        name = _next(remaining, registry)
        remaining.remove(name)
        message = message_of(name)
        yield name
        api = registry.find(API_BY_NAME[name].key)
        yield name
        if api is not None and name in ASKED_TOGETHER:
            message.prepare(api.highest)
            yield name


def _next(remaining: Sequence[str], registry: Apis) -> str:
    """Return the first remaining API that follows the one loaded last; after the end, start at the beginning."""
    newest = next((api.spec.name for api in reversed(registry.loaded.values())), None)
    if newest not in ASKED_FIRST:
        return remaining[0]
    behind = ASKED_FIRST[ASKED_FIRST.index(newest) + 1 :]
    return next((name for name in behind if name in remaining), remaining[0])
