"""A response that depends on a callback, computed in steps when the callback is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket

ValueT = TypeVar("ValueT")
ResponseT = TypeVar("ResponseT")


class AwaitedResponse(Generic[ValueT, ResponseT]):
    """A response computed from the value of a callback, which may be called during the handler's steps or later."""

    def __init__(self, ticket: Ticket, respond: Callable[[ValueT], Task[ResponseT]]) -> None:
        """Prepare a response to `ticket`.

        Args:
            respond: Computes the response from the value; it may take many steps.
        """
        self._ticket = ticket
        self._respond = respond
        self._values: list[ValueT] = []
        self._is_parked = False

    def set(self, value: ValueT, now_ms: int = 0) -> None:
        """Set the value; called exactly once."""
        if self._is_parked:
            self._ticket.work_on(self._respond(value))
        else:
            self._values.append(value)

    def get(self) -> Task[ResponseT | None]:
        """Return what the handler returns as its last step: the response, or None while the value is missing."""
        if self._values:
            return (yield from self._respond(self._values[0]))
        self._is_parked = True
        return None
