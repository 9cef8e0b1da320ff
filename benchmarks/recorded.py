"""`python -m benchmarks.recorded HOST:PORT`: a broker with the laboratory's recorder, but without the rest of it."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from kohort.base.address import Advertised, parse_address
from kohort.base.logs import log
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.runtime.listener import PlainEntrance
from kohort.broker.runtime.run import run
from kohort.broker.runtime.server import Server
from kohort.broker.settings.broker_settings import Settings
from kohort.control.history.recorder import Recorder


class OnlyRecorder:
    """Subset of `run.Control` without address, faults and gates."""

    clock = log.clock

    def attach(self, cluster: BrokerCluster) -> None:
        Recorder(cluster).start()

    def serve(self, server: Server) -> AbstractAsyncContextManager[str]:
        return _nowhere()


@asynccontextmanager
async def _nowhere() -> AsyncIterator[str]:
    yield "nowhere"


if __name__ == "__main__":
    run(Settings({}, "test", 1), PlainEntrance(*parse_address(sys.argv[1]), Advertised()), 1, OnlyRecorder())
