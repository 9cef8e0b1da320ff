"""Sends alerts to an address as JSON: several at once, again when that fails, and never the same one twice in a row.

A body is {"source": "kohort", "text": ..., "alerts": [{"group", "at_ms", "kind", "severity", "text"}, ...]}. `text` has
the alerts as lines: chat systems show it as it stands.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass
from urllib.parse import urlsplit

TRIES = 5
FIRST_PAUSE_S, TIMEOUT_S = 1.0, 10.0
GATHER_S = 1.0
"""What comes within this time goes together."""
MOST_WAITING, MOST_AT_ONCE = 1_000, 50
SAME_S = 300.0
"""An alert of a group that says the same as one so long before isn't sent again."""
ENDING_S = 15.0


@dataclass(frozen=True, slots=True)
class Message:
    """One alert or finding."""

    group: str
    at_ms: int
    kind: str
    severity: str
    text: str


def checked_address(url: str) -> str:
    """The address. Raises ValueError for one that nothing can be posted to."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no address to post to; one looks like https://host/path")
    return url


class Webhook:
    """Sends from a thread of its own, so that an address which doesn't answer delays nobody."""

    def __init__(
        self, url: str, say: Callable[[str], None], post: Callable[[str, bytes], None] | None = None,
        sleep: Callable[[float], object] | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """say: hears what could not be sent. post, sleep, clock: for tests."""
        self._url, self._say, self._post, self._clock = url, say, post or _post, clock
        self._waiting: deque[Message] = deque()
        self._lost = 0
        self._sent: dict[tuple[str, str, str], float] = {}
        self._over = threading.Event()
        self._sleep = sleep or self._over.wait
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Webhook:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """What waits is tried once more."""
        self._over.set()
        self._thread.join(ENDING_S)

    def add(self, message: Message) -> None:
        """Takes an alert; the oldest goes when too many wait."""
        now, key = self._clock(), (message.group, message.kind, message.text)
        self._sent = {each: at for each, at in self._sent.items() if now - at < SAME_S}
        if key in self._sent:
            return
        self._sent[key] = now
        self._waiting.append(message)
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1

    def send_waiting(self) -> None:
        """Sends what waits, in portions; says what could not be sent."""
        while self._waiting:
            messages = [self._waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(self._waiting)))]
            if problem := self._send(messages):
                self._say(f"--webhook {self._url}: {len(messages)} alerts were not sent: {problem}")
        if self._lost:
            self._say(f"--webhook {self._url}: {self._lost} alerts were not sent: too many were waiting")
            self._lost = 0

    def _send(self, messages: list[Message]) -> str:
        """Why it failed, in the end; empty if it did not."""
        text = "\n".join(f"[{each.severity}] {each.group}: {each.text}" for each in messages)
        row = {"source": "kohort", "text": text, "alerts": [asdict(each) for each in messages]}
        body, problem = json.dumps(row, ensure_ascii=False).encode(), ""
        for attempt in range(TRIES):
            try:
                self._post(self._url, body)
            except urllib.error.HTTPError as error:
                problem = f"the answer was {error.code} {error.reason}"
                if error.code < 500 and error.code != 429:
                    return problem
            except OSError as error:
                problem = str(getattr(error, "reason", error))
            else:
                return ""
            if attempt + 1 < TRIES:
                self._sleep(FIRST_PAUSE_S * 2**attempt)
        return problem

    def _run(self) -> None:
        while not self._over.wait(GATHER_S):
            self.send_waiting()
        self.send_waiting()


def _post(url: str, body: bytes) -> None:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        answer.read(1)
