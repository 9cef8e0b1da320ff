"""A tab of headless Chromium: opens a page, evaluates scripts, presses keys and takes pictures.

It uses the browser's DevTools protocol over a pipe and therefore needs no port and no other library.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--hide-scrollbars",
)
PATIENCE_S = 60.0


def chromium() -> str | None:
    """Return the path of Chromium, or None if it is not installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Tab:
    """The only tab of a browser."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        # Errors of the page and blocked requests, except requests without a response or with an error response
        self.problems: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self._number:
                assert "error" not in reply, reply["error"]
                return reply["result"]
            self._note(reply)

    def open(self, url: str, width: int = 1280, height: int = 900, *, dark: bool = False) -> None:
        """Open a page in a window of this size in pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def ask(self, script: str) -> Any:
        """Evaluate a JavaScript expression and return its value, or the value of its promise."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str, patience_s: float = PATIENCE_S) -> Any:
        """Wait until an expression is true and return its value. The page is polled every 20 ms."""
        end = time.monotonic() + patience_s
        while not (found := self.ask(script)):
            assert time.monotonic() < end, (
                f"never true: {script}; text of the page: {self.ask('document.body.innerText')[:2_000]}"
            )
            time.sleep(0.02)
        return found

    def press(self, key: str) -> None:
        """Send a key press, for example `Tab`, `Enter` or `a`."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "")

    def picture(self, to: Path) -> None:
        """Save a PNG picture of the window."""
        to.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], PATIENCE_S)
            assert ready, "the browser does not respond"
            more = os.read(self._from, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        reply: dict[str, Any] = json.loads(message)
        return reply

    def _note(self, reply: dict[str, Any]) -> None:
        if reply.get("method") == "Runtime.exceptionThrown":
            details = reply["params"]["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description") or details["text"])
        elif reply.get("method") == "Log.entryAdded":
            entry = reply["params"]["entry"]
            if entry["level"] == "error" and entry["source"] != "network":
                self.problems.append(entry["text"])


@contextmanager
def tab() -> Iterator[Tab]:
    """Start a browser with one tab, and stop it at the end."""
    found = chromium()
    assert found is not None, "ask for chromium() first"
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        words = [found, *OPTIONS, f"--user-data-dir={folder}/profile", "--remote-debugging-pipe"]
        # The protocol requires its pipe as descriptors 3 and 4.
        command = f"exec {shlex.join(words)} 3<&{their_in} 4>&{their_out}"
        process = subprocess.Popen(
            ["/bin/bash", "-c", command],
            pass_fds=(their_in, their_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(their_in)
        os.close(their_out)
        try:
            yield Tab(our_out, our_in)
        finally:
            process.kill()
            process.wait()
            os.close(our_out)
            os.close(our_in)
