"""Download of a broker's `/openapi.json`."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

TIMEOUT_S = 60


class Unserved(Exception):
    """Missing document; the message gives the reason for the person who builds."""


def served_document() -> dict[str, Any]:
    """Return the document of the broker at KOHORT_CONTROL, or of one that is started for it.

    Raises:
        Unserved: The broker can't be reached or started, or does not serve the document.
    """
    running = os.environ.get("KOHORT_CONTROL")
    if running:
        return _download(running)
    with _started(os.environ.get("KOHORT_COMMAND") or "kohort") as address:
        return _download(address)


def _download(address: str) -> dict[str, Any]:
    base = address.rstrip("/") if "://" in address else f"http://{address}"
    token = os.environ.get("KOHORT_CONTROL_TOKEN")
    request = Request(f"{base}/openapi.json", headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urlopen(request, timeout=TIMEOUT_S) as answer:
            document: dict[str, Any] = json.load(answer)
    except OSError as problem:
        raise Unserved(f"{base} does not serve an /openapi.json: {problem}") from None
    return document


@contextmanager
def _started(command: str) -> Iterator[str]:
    """Start a broker; yield its control address."""
    arguments = [command, "serve", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--log-level", "error"]
    try:
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    except OSError:
        text = "install kohort with its extra control, or name the command with KOHORT_COMMAND"
        raise Unserved(f"command {command} not found; {text}") from None
    with process:
        assert process.stdout is not None
        try:
            ready = re.match(r"READY .* control=(\S+)", process.stdout.readline())
            if ready is None:
                raise Unserved(f"{command} does not serve a control address")
            yield ready[1]
        finally:
            process.terminate()
