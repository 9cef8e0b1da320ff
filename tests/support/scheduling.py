"""Which tests go together to a worker process of a run, and in which order.

With `--dist loadgroup` a group of tests stays in one worker. What waits goes first, several at a time; what computes
fills the processors behind it.
"""

from __future__ import annotations

from collections import Counter

import pytest

AT_MOST = 40
"""Tests of a file that go to a worker together. Fewer keep the controller busy, more make the last worker late."""

SECONDS = {"spark": 20.0, "libraries": 15.0, "recorded": 0.1, "clients": 2.5, "long": 2.0, "fast": 0.04}
"""How long a test of a kind takes, about: its mark is the kind, or what it needs.

What takes longest goes first; the tests of `recorded` are short, and take long together.
"""

_RECORDED = {"recorded_silver", "recorded_groups", "incidents"}
"""Fixtures that take seconds to make: the tests that want them are a kind, and stay in one worker."""


def arrange(items: list[pytest.Item]) -> None:
    """Sorts the tests, and marks each with its group."""
    marks = {item: marks_of(item) for item in items}
    kinds = {item: _kind(item, marks[item]) for item in items}
    turns = {kind: turn for turn, kind in enumerate(SECONDS)}
    items.sort(key=lambda item: turns[kinds[item]])  # stable: the tests of a file stay in their order
    seen: Counter[str] = Counter()
    for item in items:
        if "xdist_group" not in marks[item]:
            item.add_marker(pytest.mark.xdist_group(_group(item, kinds[item], seen)))


def marks_of(item: pytest.Item) -> set[str]:
    """The names of its marks. Asking for one after the other took a tenth of the time that collecting takes."""
    return {mark.name for mark in item.iter_markers()}


def check_groups(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Fails a run whose tests pytest-xdist has not grouped: it would be slow, and four Sparks would start at a time."""
    if getattr(config.option, "loadgroup", False) and any(without_group(item.nodeid) == item.nodeid for item in items):
        raise pytest.UsageError("pytest-xdist can't group tests under this pytest: see constraints.txt")


def without_group(nodeid: str) -> str:
    """The name by which pytest finds the test: pytest-xdist writes the group behind it."""
    name, at, _ = nodeid.rpartition("@")
    return name if at and "]" not in nodeid[len(name) :] else nodeid


def kind_of(nodeid: str) -> str:
    """What kind of test this is, by the group behind its name: a key of `SECONDS`."""
    return nodeid.rpartition("@")[2].partition(" ")[0]


def _kind(item: pytest.Item, marks: set[str]) -> str:
    if "spark" not in marks and _RECORDED & set(getattr(item, "fixturenames", ())):
        return "recorded"
    return next((kind for kind in SECONDS if kind in marks), "fast")


def _group(item: pytest.Item, kind: str, seen: Counter[str]) -> str:
    """The kind of the test, and what tells this group from others of its kind."""
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
    """Whether a fixture of its module or class is made for several tests."""
    info = getattr(item, "_fixtureinfo", None)
    return info is not None and any(
        definitions[-1].scope in ("module", "class", "package") for definitions in info.name2fixturedefs.values()
    )
