"""Assignment of tests to worker processes, and their order.

With `--dist loadgroup` a group of tests stays in one worker. Tests that wait start first, several at a time; tests that
compute use the processors afterwards.
"""

from __future__ import annotations

from collections import Counter

import pytest

AT_MOST = 40
"""Tests of a file that run together in a worker. Fewer keep the controller busy, more delay the last worker."""

SECONDS = {"spark": 20.0, "libraries": 15.0, "recorded": 0.1, "clients": 2.5, "long": 2.0, "fast": 0.04}
"""Approximate duration of a test by type: its mark, or the fixture it needs.

The slowest types start first. Tests of `recorded` are short, and slow together.
"""

_RECORDED = {"recorded_silver", "recorded_groups", "incidents"}
"""Fixtures that take seconds to create. Tests that use them have a type of their own and stay in one worker."""


def arrange(items: list[pytest.Item]) -> None:
    """Sort the tests and mark each with its group."""
    marks = {item: marks_of(item) for item in items}
    kinds = {item: _kind(item, marks[item]) for item in items}
    turns = {kind: turn for turn, kind in enumerate(SECONDS)}
    items.sort(key=lambda item: turns[kinds[item]])  # stable: the tests of a file stay in their order
    seen: Counter[str] = Counter()
    for item in items:
        if "xdist_group" not in marks[item]:
            item.add_marker(pytest.mark.xdist_group(_group(item, kinds[item], seen)))


def marks_of(item: pytest.Item) -> set[str]:
    """Return the names of a test's marks. Separate queries for each took a tenth of the collection time."""
    return {mark.name for mark in item.iter_markers()}


def check_groups(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Fail a run that pytest-xdist has not grouped: it would be slow and start four Sparks at a time."""
    if getattr(config.option, "loadgroup", False) and any(without_group(item.nodeid) == item.nodeid for item in items):
        raise pytest.UsageError("pytest-xdist can't group tests under this pytest: see constraints.txt")


def without_group(nodeid: str) -> str:
    """Return the test id without the group that pytest-xdist appends."""
    name, at, _ = nodeid.rpartition("@")
    return name if at and "]" not in nodeid[len(name) :] else nodeid


def kind_of(nodeid: str) -> str:
    """Return the type of a test from the group in its id: a key of `SECONDS`."""
    return nodeid.rpartition("@")[2].partition(" ")[0]


def _kind(item: pytest.Item, marks: set[str]) -> str:
    if "spark" not in marks and _RECORDED & set(getattr(item, "fixturenames", ())):
        return "recorded"
    return next((kind for kind in SECONDS if kind in marks), "fast")


def _group(item: pytest.Item, kind: str, seen: Counter[str]) -> str:
    """Return the group of a test: its type, and a number or name that distinguishes groups of the type."""
    file = item.nodeid.partition("::")[0]
    names = getattr(item, "fixturenames", ())
    if kind == "spark":
        return "spark" if "spark" in names else "spark of its own"
    if kind == "recorded":
        return kind
    if _shares_a_fixture(item):
        return f"{kind} {file}"
    number = seen[file] // (AT_MOST if kind == "fast" else 1)
    seen[file] += 1
    return f"{kind} {file} {number}"


def _shares_a_fixture(item: pytest.Item) -> bool:
    """Return whether several tests share a fixture of its module or class."""
    info = getattr(item, "_fixtureinfo", None)
    return info is not None and any(
        definitions[-1].scope in ("module", "class", "package") for definitions in info.name2fixturedefs.values()
    )
