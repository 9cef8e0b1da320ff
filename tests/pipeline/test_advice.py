"""Advice of the findings of all recordings, from several sets of sources."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.pipeline.incidents.recorded import Sources, Told, log_alone, text_alone, without_ends, without_events

ACTIONS = frozenset({
    "Abort", "Add", "Analyze", "Check", "Close", "Commit", "Compare", "Delete", "Do", "Find", "Finish", "Fix", "Give", "Ignore", "Lower", "Make", "Narrow", "Raise", "Read",
    "Reduce", "Remove", "Restart", "Run", "Set", "Start", "Stop", "Take", "Update", "Use",
})  # fmt: skip


@pytest.mark.parametrize("sources", [log_alone, text_alone, without_ends, without_events])
def test_advice_begins_with_action(sources: Sources, told_from: Callable[[Sources], list[Told]]) -> None:
    wrong = {
        finding.rule: finding.advice
        for group in told_from(sources)
        for finding in group.found
        if finding.advice.split()[0] not in ACTIONS and "explain" not in finding.advice
    }
    assert wrong == {}


def test_advice_names_reported_clients(told_from: Callable[[Sources], list[Told]]) -> None:
    for group in told_from(text_alone):
        names = {session.member.name for session in group.analysis.sessions}
        for finding in group.found:
            strangers = {name for name in names - set(finding.clients) if f" {name} " in finding.advice}
            assert not strangers, (group.group.group_id, finding.rule, finding.advice)
