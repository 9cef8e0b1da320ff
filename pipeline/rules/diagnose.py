"""Execution of all rules on a group."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from kohort.pipeline import rules
from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules import explained, r26_storm, r30_poison, r37_all_stand_still
from kohort.pipeline.rules.finding import SEVERITIES, Finding

Rule = Callable[[GroupAnalysis], Iterator[Finding]]


def _files() -> Iterator[ModuleType]:
    """Yield the modules of this folder that are named after a rule, ordered by number."""
    for name in sorted(module.name for module in iter_modules(rules.__path__)):
        if re.match(r"r\d\d_", name):
            yield import_module(f"{rules.__name__}.{name}")


# rules by id; those without `find` look at several groups together
ALL: dict[str, Rule] = {file.ID: file.find for file in _files() if hasattr(file, "find")}

# rules for share groups: partitions have no owners, and deliveries count instead of commits
_OF_SHARE_GROUPS = ("R27", "R47", "R48", "R49", "R50", "R51", "R52", "R57")
# rules for streams groups: their coordinator assigns tasks, without a join barrier
_OF_STREAMS_GROUPS = ("R03", "R13", "R23", "R27", "R37", "R53", "R54", "R55", "R56")
_RULES_OF_TYPE = {"share": _OF_SHARE_GROUPS, "streams": _OF_STREAMS_GROUPS}


def diagnose(analysis: GroupAnalysis) -> list[Finding]:
    """Return the findings of one group, most severe first."""
    rules_of_type = _RULES_OF_TYPE.get(analysis.group_type, tuple(ALL))
    findings = [finding for rule in rules_of_type for finding in ALL[rule](analysis)]
    for finding in findings:
        finding.group = analysis.group_id
        if finding.rule == "R30":
            r30_poison.explain(finding, findings)
    explained.explain(findings)
    for finding in findings:
        if finding.rule == "R37":  # if no other finding explains it
            r37_all_stand_still.explain(finding, findings)
    for finding in findings:
        if finding.rule == "R26":  # by findings that aren't explained by another one
            r26_storm.explain(finding, findings)
    for finding in findings:
        finding.refer_to_cause()
    return sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), f.rule, -f.weight))
