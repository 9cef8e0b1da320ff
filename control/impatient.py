"""HTTP as the control address speaks it: a request that has begun has to come to its end."""

from __future__ import annotations

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 10.0
"""A client has so long to send a whole request: what is held for it, and its connection, would stay for ever else."""

_WHOLE = (h11.DONE, h11.MUST_CLOSE, h11.CLOSED, h11.ERROR)
"""What h11 says of a client that has sent all of a request."""


class ImpatientProtocol(H11Protocol):
    """Hangs up on clients that send half a request. uvicorn itself waits for them, however long."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected, and is about to ask for something."""
        super().connection_made(cast(asyncio.Transport, transport))
        self._hurry()

    def data_received(self, data: bytes) -> None:
        """More has come of a request, or of the next one."""
        super().data_received(data)
        state = self.conn.their_state
        if state in _WHOLE or (state is h11.IDLE and not self.conn.trailing_data[0]):
            self._be_patient()
        elif self._timer is None:
            self._hurry()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        self._be_patient()
        super().connection_lost(exc)

    def _hurry(self) -> None:
        self._timer = self.loop.call_later(REQUEST_S, self.transport.abort)

    def _be_patient(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
