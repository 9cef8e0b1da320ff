"""Runs every rule on a group."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from kohort.pipeline import rules
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules import explained, r26_storm, r30_poison
from kohort.pipeline.rules.finding import SEVERITIES, Finding

Rule = Callable[[GroupAnalysis], Iterator[Finding]]


def _files() -> Iterator[ModuleType]:
    """The files beside this one that are named after a rule, in the order of their numbers."""
    for name in sorted(each.name for each in iter_modules(rules.__path__)):
        if re.match(r"r\d\d_", name):
            yield import_module(f"{rules.__name__}.{name}")


ALL: dict[str, Rule] = {file.ID: file.find for file in _files() if hasattr(file, "find")}
"""By their ids. Those without a `find` are asked of several groups at once."""

_OF_SHARE_GROUPS = ("R27", "R47", "R48", "R49", "R50", "R51", "R52")
"""Their partitions have no owners, and what becomes of records counts, not what is committed."""
_OF_STREAMS_GROUPS = ("R27", "R37", "R53", "R54", "R55", "R56")
"""Their coordinator assigns tasks, and nobody waits at a barrier."""
_ASKED = {"share": _OF_SHARE_GROUPS, "streams": _OF_STREAMS_GROUPS}


def diagnose(analysis: GroupAnalysis) -> list[Finding]:
    """Findings of one group, the gravest first."""
    asked = _ASKED.get(analysis.group_type, tuple(ALL))
    found = [finding for rule in asked for finding in ALL[rule](analysis)]
    for finding in found:
        finding.group = analysis.group_id
        if finding.rule == "R30":
            r30_poison.explain(finding, found)
    explained.explain(found)
    for finding in found:
        if finding.rule == "R26":  # by what counts, not by what that explains
            r26_storm.explain(finding, found)
    return sorted(found, key=lambda f: (-SEVERITIES.index(f.severity), f.rule))
