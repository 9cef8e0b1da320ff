"""Analysis of the demo's own logs by `kohort analyze`, at the end of the demo.

It runs in a process of its own, so that its modules are not imported here and may be missing.
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
SLOW_MEMBER = "R01"  # rule: one slow member stalled the group
MIGRATION = "R24"  # rule: the group changed its protocol, and the cost of that


def is_installed() -> bool:
    """Return whether the extra `analyze` is installed."""
    return all(find_spec(module) is not None for module in NEEDED)


def how_to_get_it(events: Path) -> str:
    return (
        "To see from these events why the groups rebalanced: pip install 'kohort[analyze]', "
        f"then kohort analyze {events}"
    )


async def analyse(bootstrap: str, events: Path, out: Path, say: Callable[[str], None]) -> str:
    """Run `kohort analyze` on the cluster's offsets topic and its event log.

    Returns:
        The reason for a failure, or an empty text.
    """
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
    """Return whether the analysis found the stalled group and the migration, and its sentences about them."""
    findings: list[dict[str, Any]] = json.loads((out / "findings.json").read_text("utf-8"))
    stalled = [
        finding
        for finding in findings
        if finding["group"] == EAGER and finding["rule"] == SLOW_MEMBER and SLOW in finding["clients"]
    ]
    moved = [
        finding
        for finding in findings
        if finding["group"] == MOVING and finding["rule"] == MIGRATION and finding["evidence"]["to"] == ["consumer"]
    ]
    checks = [
        _check(bool(stalled), f"that {SLOW} stalled {EAGER}"),
        _check(bool(moved), f"what the move of {MOVING} cost"),
    ]
    lines = [f"{finding['group']}: {finding['text']}" for finding in (*stalled[:1], *moved[:1])]
    return checks, [*lines[:1], *(finding["advice"] for finding in stalled[:1]), *lines[1:]]


def _check(holds: bool, subject: str) -> Check:
    return Check(holds, f"the analysis of these logs {'finds' if holds else 'does not find'} {subject}")
