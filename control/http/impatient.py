"""HTTP protocol of the control address: limits the time in which a client must send a complete request."""

from __future__ import annotations

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Maximum time to send a whole request. Without it the connection and the received part would be kept forever.
REQUEST_S = 10.0

_WHOLE = (h11.DONE, h11.MUST_CLOSE, h11.CLOSED, h11.ERROR)  # h11's states of a client that has sent all of a request


class ImpatientProtocol(H11Protocol):
    """Protocol that disconnects clients that send part of a request; uvicorn itself waits for them without a limit."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        state = self.conn.their_state
        if state in _WHOLE or (state is h11.IDLE and not self.conn.trailing_data[0]):
            self._cancel_timer()
        elif self._timer is None:
            self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_timer()
        super().connection_lost(exc)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(REQUEST_S, self.transport.abort)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
