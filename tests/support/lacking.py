"""Optional tools of tests: a missing tool skips a test on a developer's machine and fails it in CI.

All skips of tests use this module; `tests/test_lacking.py` checks that. CI systems set the variable CI.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from importlib.util import find_spec
from shutil import which
from typing import NamedTuple, NoReturn

import pytest

from tests.support.chromium_tab import chromium


class Lack(NamedTuple):
    """A tool that some tests need."""

    text: str  # the reason for the skip, in the summary
    in_ci: bool = False  # whether it may be missing in CI, too
    is_there: Callable[[], bool] | None = None  # looks for it, for the mark `needs`


def _ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


LACKS = {
    "chromium": Lack(
        "Chromium is not installed (Debian: apt install chromium)", is_there=lambda: chromium() is not None
    ),
    "mkdocs": Lack("mkdocs is not installed (make environment)", is_there=lambda: find_spec("mkdocs") is not None),
    "prometheus": Lack(
        "Prometheus with promtool is not installed (Debian: apt install prometheus)",
        in_ci=True,
        is_there=lambda: which("promtool") is not None and which("prometheus") is not None,
    ),
    "re2": Lack("google-re2 has no wheel for this Python", is_there=lambda: find_spec("re2") is not None),
    "openssl": Lack("openssl makes the certificate, and is not installed"),
    "program": Lack("a program or library of others can't be had"),
    "native addon": Lack("node-rdkafka could not be compiled", in_ci=True),
    "ipv6": Lack("there is no IPv6 loopback", in_ci=True, is_there=_ipv6),
    "feature": Lack("the library does not have it", in_ci=True),
    "plain": Lack("only on plain Python", in_ci=True),
    "proxy": Lack("not through the proxy", in_ci=True),
    "our own broker": Lack(
        "an Apache Kafka has no control address, and is not ours to stop",
        is_there=lambda: not os.environ.get("KOHORT_CLIENTS_BOOTSTRAP"),
    ),
}


def lacks(tool: str, detail: object = "") -> NoReturn:
    """Skip the test, or fail it in CI unless the tool may be missing there.

    Args:
        tool: A key of `LACKS`.
    """
    lack = LACKS[tool]
    text = f"{lack.text}: {detail}" if str(detail) else lack.text
    if os.environ.get("CI") and not lack.in_ci:
        pytest.fail(f"missing in CI: {text}", pytrace=False)
    pytest.skip(text)


def need(tool: str) -> None:
    """Skip the test, or fail it in CI, if a tool is missing.

    Args:
        tool: A key of `LACKS` with a check.
    """
    is_there = LACKS[tool].is_there
    assert is_there is not None, f"no check for {tool}"
    if not is_there():
        lacks(tool)


def look_for_needs(item: pytest.Item) -> None:
    """Skip or fail a test if a tool named by its marks `needs` is missing."""
    for mark in item.iter_markers("needs"):
        for tool in mark.args:
            need(tool)
