"""R34: members or commits are rejected for lack of an ACL. Needs events, or the authorizer's lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, CRITICAL, WARNING, Finding, times
from kohort.pipeline.sources.source_rows import GroupEvent

ID = "R34"
# options of kafka-acls by resource type
_OPTIONS = {"GROUP": "--group", "TOPIC": "--topic", "TRANSACTIONALID": "--transactional-id"}


class _Right(NamedTuple):
    """Missing permission and its principal."""

    principal: str
    operation: str
    resource: str


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_right: dict[_Right, list[GroupEvent]] = {}
    for event in analysis.events.denied:
        detail = event.detail or {}
        right = _Right(detail.get("principal", ""), detail.get("operation", ""), detail.get("resource", ""))
        if all(right):
            by_right.setdefault(right, []).append(event)
    for right, hits in by_right.items():
        yield _finding(right, hits)


def _finding(right: _Right, hits: list[GroupEvent]) -> Finding:
    kind, _, name = right.resource.partition(":")
    operation, kind = right.operation.capitalize(), kind.replace("_", "")
    clients = sorted({event.client_id for event in hits if event.client_id})
    refused = _refused(hits)
    principal = f"{', '.join(clients)} ({right.principal})" if clients else right.principal
    keeps_out = kind == "GROUP" and right.operation == "READ"
    effect = "can't be a member" if keeps_out else "works without it"
    option = f"{_OPTIONS[kind]} '{name}'" if kind in _OPTIONS else "--cluster"
    return Finding(
        ID,
        "Access denied: an ACL is missing",
        CRITICAL if keeps_out else WARNING,
        CERTAIN,
        f"{principal} was denied {times(refused)}, for lack of {operation} on {kind.lower()} {name}, and {effect}",
        "Add the ACL if that client is legitimate: kafka-acls --add "
        f"--allow-principal {right.principal} --operation {operation} {option}. A DENY overrides any ALLOW: "
        "kafka-acls --list shows whether there is one.",
        hits[0].ts,
        hits[-1].ts,
        clients,
        {"refused": refused, "principal": right.principal, "operation": right.operation, "resource": right.resource},
    )


def _refused(hits: list[GroupEvent]) -> int:
    """Count rejections: an event's `n` is cumulative per client and request, a line of the authorizer's counts one."""
    highest: dict[tuple[str | None, str | None, str | None], int] = {}
    lines = 0
    for event in hits:
        count = (event.detail or {}).get("n", "")
        if event.origin == "text_log" or not count.isdigit():
            lines += 1
            continue
        key = (event.client_id, event.client_host, (event.detail or {}).get("api"))
        highest[key] = max(highest.get(key, 0), int(count))
    return lines + sum(highest.values())
