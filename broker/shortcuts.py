"""Where a request may be recognised without being read. Who knows no shortcut has the ones below, which do nothing.

`broker/fast/` knows some. Without that folder everything is answered the same, only slower.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from mypy_extensions import mypyc_attr

if TYPE_CHECKING:
    from kohort.broker.ticket import Ticket
    from kohort.protocol.headers import RequestHeader


@mypyc_attr(allow_interpreted_subclasses=True)
class Repeated:
    """A request that its connection has sent before."""

    __slots__ = ("api", "client_id", "request", "version")

    def __init__(self) -> None:
        self.api: Any
        """A `registry.Api`."""
        self.version: int
        self.client_id: str
        self.request: Any = None

    def answer(self, node: Any, now_ms: int) -> bytes | None:
        """Its answer's frame, all but the correlation id; None: it is to be handled. Nobody asks for rights."""
        return None

    def handle(self, node: Any, request: Any, ticket: Ticket) -> Any:
        """Handles it; returns what handlers return."""
        return ticket.api.handle(node, request, ticket)


@mypyc_attr(allow_interpreted_subclasses=True)
class Shortcuts:
    """What one connection's requests have shown so far: nothing."""

    __slots__ = ()

    def find(self, frame: bytes, start: int) -> Repeated | None:
        """The request in a frame, if it has come before; None: it is to be read. `start`: where its header begins."""
        return None

    def learn(self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader) -> Shortcuts:
        """Gets each request that was read. Returns what its connection knows from now on."""
        return self


NONE: Final = Shortcuts()


def shortcuts() -> Shortcuts:
    """What a new connection knows."""
    try:
        known: Shortcuts = import_module("kohort.broker.fast").SHORTCUTS
    except ModuleNotFoundError as missing:
        if missing.name != "kohort.broker.fast":
            raise
        return NONE
    return known
