"""The end of the demo: its own logs are analysed, as `kohort analyze` analyses anybody's.

In a process of its own: what it loads stays out of this one, and what is not installed is not missed.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kohort.demo.acts import EAGER, MOVING, SLOW
from kohort.demo.verdict import Check

NEEDED = ("pyarrow", "numpy")
WITHIN_S = 600
SLOW_MEMBER = "R01"
"""The rule that says: one slow member stalled the group."""
MIGRATION = "R24"
"""The rule that says: the group changed its protocol, and what that cost."""


def is_installed() -> bool:
    """Whether the extra `analyze` is there."""
    return all(find_spec(module) is not None for module in NEEDED)


def how_to_get_it(events: Path) -> str:
    """Where it is not, in one sentence."""
    return (
        "To see from these events why the groups rebalanced: pip install 'kohort[analyze]', "
        f"then kohort analyze {events}"
    )


async def analyse(bootstrap: str, events: Path, out: Path, say: Callable[[str], None]) -> str:
    """Analyses the cluster's offsets topic and its event log. Returns why that failed, empty if it did not."""
    child = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-m",
            "kohort.cli",
            "analyze",
            bootstrap,
            str(events),
            "--engine",
            "local",
            "--out",
            str(out),
        ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C comes to us, and we end it
    )
    last = ""
    try:
        async with asyncio.timeout(WITHIN_S):
            assert child.stderr is not None
            async for line in child.stderr:
                last = line.decode("utf-8", "replace").rstrip()
                if last:
                    say(last)
            code = await child.wait()
    except TimeoutError:
        return f"the analysis was not over within {WITHIN_S} s"
    finally:
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGTERM)
            await child.wait()
    return "" if code == 0 else f"the analysis failed: {last or f'exit code {code}'}"


def judge(out: Path) -> tuple[list[Check], list[str]]:
    """Whether it has found what the play was about, and what it says of that."""
    findings: list[dict[str, Any]] = json.loads((out / "findings.json").read_text("utf-8"))
    stalled = [
        each for each in findings if each["group"] == EAGER and each["rule"] == SLOW_MEMBER and SLOW in each["clients"]
    ]
    moved = [
        each
        for each in findings
        if each["group"] == MOVING and each["rule"] == MIGRATION and each["evidence"]["to"] == ["consumer"]
    ]
    checks = [
        _found(bool(stalled), f"that {SLOW} stalled {EAGER}"),
        _found(bool(moved), f"what the move of {MOVING} cost"),
    ]
    lines = [f"{each['group']}: {each['text']}" for each in (*stalled[:1], *moved[:1])]
    return checks, [*lines[:1], *(each["advice"] for each in stalled[:1]), *lines[1:]]


def _found(found: bool, what: str) -> Check:
    return Check(found, f"the analysis of these logs {'finds' if found else 'does not find'} {what}")
