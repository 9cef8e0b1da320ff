"""Recognition of requests without decoding. The defaults below recognize nothing.

`broker/fast/` has some. Without that folder all responses are the same, only slower.
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

    __slots__ = ("api", "client_id", "numbers", "observed", "request", "version")

    def __init__(self) -> None:
        self.api: Any  # a `registry.Api`
        self.version: int
        self.client_id: str
        self.request: Any = None
        self.observed: Any = None  # value that hooks have stored for reuse
        # Offsets of the current request, which may differ from `request` (fast/request_patterns.py).
        self.numbers: tuple[int, ...] = ()

    def answer(self, node: Any, now_ms: int) -> bytes | None:
        """Return the response frame after the correlation id, or None if the request must be handled.

        Skips authorization.
        """
        return None

    def handle(self, node: Any, request: Any, ticket: Ticket) -> Any:
        return ticket.api.handle(node, request, ticket)


@mypyc_attr(allow_interpreted_subclasses=True)
class Shortcuts:
    """Recognizes requests of one connection; this one recognizes none."""

    __slots__ = ()

    def find(self, frame: bytes, start: int) -> Repeated | None:
        """Return the request in a frame if it is a repetition, or None if it must be decoded.

        Args:
            start: Offset of the header in the frame.
        """
        return None

    def learn(self, api: Any, request: Any, frame: bytes, start: int, header: RequestHeader) -> Shortcuts:
        """Remember a decoded request, and return the connection's shortcuts from now on."""
        return self


NONE: Final = Shortcuts()


def shortcuts() -> Shortcuts:
    try:
        factory: Shortcuts = import_module("kohort.broker.fast").SHORTCUTS
    except ModuleNotFoundError as missing:
        if missing.name != "kohort.broker.fast":
            raise
        return NONE
    return factory
