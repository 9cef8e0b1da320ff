"""The sentinel measures the time that the broker works for a request, not the delay of a busy machine."""

import os
import socket
import threading
from time import process_time

from tests.fuzz.live import LATE_MS
from tests.fuzz.sentinel import Sentinel
from tests.support.frames import frame

BEAT = frame("heartbeat", 3, group_id="g", generation_id=1, member_id="m")
ANSWER = bytes((0, 0, 0, 10)) + bytes(10)


class Server:
    """Answers each heartbeat after `works_s` of work in this process."""

    def __init__(self, works_s: float) -> None:
        self._works_s = works_s
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        request, _ = self._listening.accept()
        self._listening.accept()
        request.recv(1_000)
        end_s = process_time() + self._works_s
        while process_time() < end_s:
            pass
        request.sendall(ANSWER)


def watched(works_s: float) -> Sentinel:
    server = Server(works_s)
    sentinel = Sentinel(server.port, os.getpid(), server.port)
    sentinel.send_heartbeat(BEAT)
    return sentinel


def test_slow_broker_is_late() -> None:
    sentinel = watched((LATE_MS + 20) / 1e3)
    assert sentinel.worst_of_broker_ms > LATE_MS
    assert len(sentinel.late) == 1


def test_immediate_answer_is_not_late() -> None:
    sentinel = watched(0)
    assert sentinel.worst_of_broker_ms < LATE_MS
    assert (sentinel.late, sentinel.failures) == ([], [])
