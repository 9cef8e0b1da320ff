"""Sender of alerts to an address as JSON: several at once, with retries, and without repetitions.

A body is {"source": "kohort", "text": ..., "alerts": [{"group", "at_ms", "kind", "severity", "text"}, ...]}. `text`
contains the alerts as lines, which chat systems show.
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

from kohort.pipeline.live.tracker import Alert

TRIES = 5
FIRST_PAUSE_S, TIMEOUT_S = 1.0, 10.0
GATHER_S = 1.0  # alerts within this time are sent together
MOST_WAITING, MOST_AT_ONCE = 1_000, 50
SAME_S = 300.0  # an equal alert of a group is not sent again within this time
ENDING_S = 15.0


@dataclass(frozen=True, slots=True)
class Message:
    """One alert or finding."""

    group: str
    at_ms: int
    kind: str
    severity: str
    text: str

    @classmethod
    def of(cls, alert: Alert) -> Message:
        return cls(alert.group_id, alert.ts_ms, alert.kind, alert.severity, alert.text)


def checked_address(url: str) -> str:
    """Return the address.

    Raises:
        ValueError: It is not an HTTP address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not a webhook address; expected one like https://host/path")
    return url


class Webhook:
    """Sends from its own thread, so that an unresponsive address delays no caller."""

    def __init__(
        self, url: str, say: Callable[[str], None], post: Callable[[str, bytes], None] | None = None,
        sleep: Callable[[float], object] | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """Create a sender.

        Args:
            say: Receives a line about alerts that could not be sent.
            post: Replacement for tests, like `sleep` and `clock`.
        """
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
        """Try once to send the queued alerts."""
        self._over.set()
        self._thread.join(ENDING_S)

    def add(self, message: Message) -> None:
        """Queue an alert; drops the oldest one if the queue is full."""
        now, key = self._clock(), (message.group, message.kind, message.text)
        self._sent = {sent_key: at for sent_key, at in self._sent.items() if now - at < SAME_S}
        if key in self._sent:
            return
        self._sent[key] = now
        self._waiting.append(message)
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1

    def send_waiting(self) -> None:
        """Send queued alerts in batches, and report failures."""
        while self._waiting:
            messages = [self._waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(self._waiting)))]
            if reason := self._send(messages):
                self._say(f"--webhook {self._url}: {len(messages)} alerts were not sent: {reason}")
        if self._lost:
            self._say(f"--webhook {self._url}: {self._lost} alerts were not sent: too many were waiting")
            self._lost = 0

    def _send(self, messages: list[Message]) -> str:
        """Return the reason of the final failure, or an empty string."""
        text = "\n".join(f"[{message.severity}] {message.group}: {message.text}" for message in messages)
        row = {"source": "kohort", "text": text, "alerts": [asdict(message) for message in messages]}
        body, reason = json.dumps(row, ensure_ascii=False).encode(), ""
        for attempt in range(TRIES):
            try:
                self._post(self._url, body)
            except urllib.error.HTTPError as error:
                reason = f"the server responded {error.code} {error.reason}"
                if error.code < 500 and error.code != 429:
                    return reason
            except OSError as error:
                reason = str(getattr(error, "reason", error))
            else:
                return ""
            if attempt + 1 < TRIES:
                self._sleep(FIRST_PAUSE_S * 2**attempt)
        return reason

    def _run(self) -> None:
        while not self._over.wait(GATHER_S):
            self.send_waiting()
        self.send_waiting()


def _post(url: str, body: bytes) -> None:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        answer.read(1)
