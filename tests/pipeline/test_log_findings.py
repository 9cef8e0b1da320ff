"""Findings from a broker's log alone, in the words of the newer protocols, and from logs that overlap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kohort.pipeline.history.group_analysis import GroupAnalysis, analyse
from kohort.pipeline.rules.diagnose import diagnose
from kohort.pipeline.rules.finding import Finding
from tests.pipeline.local_groups import group_from

START = datetime(2026, 6, 1, 9, tzinfo=UTC)
GROUP, A, B = "tram", "TWVtYmVyLW9uZS1ub3cgMQ", "TWVtYmVyLXR3by1ub3cgMg"
JOINS = {
    "consumer": "[GroupId {group}] Member {member} joins the consumer group using the consumer protocol.",
    "streams": "[GroupId {group}][MemberId {member}] Member joins the streams group.",
}
FENCED = {
    "consumer": "[GroupId {group}] Member {member} fenced from the group because {reason}",
    "streams": "[GroupId {group}] Streams member {member} fenced from the group because {reason}.",
}
EXPIRED, UNREVOKED = "the member session expired.", "it failed to transition from epoch 3 within 60000ms."
STATIC_JOINS = (
    "[GroupId {group}][MemberId {member}] Static member {member} with instance id {instance} joins the streams group."
)
STATIC_AWAY = "[GroupId {group}][MemberId {member}] Static member {member} with instance id {instance} temporarily left the streams group."
STATIC_BACK = (
    "[GroupId {group}][MemberId {member}] Static member with instance id {instance} re-joins the streams group using the "
    "streams protocol. Created a new member {member} to replace the existing member {old}."
)


def line(second: float, text: str, **words: str) -> str:
    at = (START + timedelta(seconds=second)).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    text = text.format(group=GROUP, **words)
    return f"[{at}] INFO [GroupCoordinator id=3 topic=__consumer_offsets partition=4] {text} (org.apache.kafka.X)"


def analysed(folder: Path, **files: list[str]) -> GroupAnalysis:
    logs = folder / "logs"
    logs.mkdir()
    for name, lines in files.items():
        (logs / f"{name}.log").write_text("\n".join(lines) + "\n")
    return analyse(group_from(folder / "silver", logs, name=GROUP))


def only(analysis: GroupAnalysis) -> Finding:
    (finding,) = [finding for finding in diagnose(analysis) if finding.severity != "info"]
    return finding


def came_back(kind: str, reason: str, *, times: int = 1, after: float = 6) -> list[str]:
    lines = [line(0, JOINS[kind], member=A), line(1, JOINS[kind], member=B)]
    for round_start in range(600, 600 + 600 * times, 600):
        lines.append(line(round_start, FENCED[kind], member=B, reason=reason))
        lines.append(line(round_start + after, JOINS[kind], member=B))
    return lines


@pytest.mark.parametrize("kind", ["consumer", "streams"])
def test_expired_member_returns_with_id(kind: str, tmp_path: Path) -> None:
    finding = only(analysed(tmp_path, server=came_back(kind, EXPIRED, times=4)))
    assert (finding.rule, finding.severity, finding.evidence["expiries"]) == ("R03", "warning", 4)
    assert "came back within 6.0 s" in finding.text
    assert f"{kind}.session.timeout.ms" in finding.advice


@pytest.mark.parametrize("kind", ["consumer", "streams"])
def test_expired_member_stays_away(kind: str, tmp_path: Path) -> None:
    lines = [*came_back(kind, EXPIRED)[:3], line(2_000, JOINS[kind], member="QW5vdGhlci1tZW1iZXItbm93")]
    finding = only(analysed(tmp_path, server=lines))
    assert (finding.rule, finding.evidence["came_back"]) == ("R03", None)


@pytest.mark.parametrize("kind", ["consumer", "streams"])
def test_member_removed_for_late_revocation(kind: str, tmp_path: Path) -> None:
    finding = only(analysed(tmp_path, server=came_back(kind, UNREVOKED, after=1.5)))
    assert (finding.rule, finding.severity, finding.clients) == ("R23", "critical", [B])
    assert (finding.evidence["rebalance_timeout_ms"], finding.evidence["back_after_ms"]) == (60_000, [1500])
    assert "within 60.0 s, its rebalance timeout; it rejoined after at most 1.5 s" in finding.text


@pytest.mark.parametrize("kind", ["consumer", "streams"])
def test_members_that_leave_are_no_problem(kind: str, tmp_path: Path) -> None:
    leaves = f"[GroupId {{group}}] Member {{member}} left the {kind} group."
    lines = [line(0, JOINS[kind], member=A), line(600, leaves, member=A), line(601, JOINS[kind], member=B)]
    analysis = analysed(tmp_path, server=lines)
    assert analysis.group_type == kind
    assert [finding.rule for finding in diagnose(analysis) if finding.severity != "info"] == []


def test_static_streams_member_returns(tmp_path: Path) -> None:
    lines = [
        line(0, STATIC_JOINS, member=A, instance="t-1"),
        line(600, STATIC_AWAY, member=A, instance="t-1"),
        line(604, STATIC_BACK, member=B, old=A, instance="t-1"),
        line(1200, FENCED["streams"], member=B, reason=EXPIRED),
    ]
    analysis = analysed(tmp_path, server=lines)
    assert analysis.streams is not None
    assert [(stay.member_id, stay.name) for stay in analysis.streams.threads] == [(A, "t-1"), (B, "t-1")]
    finding = only(analysis)
    assert (finding.rule, finding.clients, finding.evidence["members"]) == ("R03", ["t-1"], [B])


def test_classic_member_of_consumer_group_leaves(tmp_path: Path) -> None:
    text = (
        "[GroupId {group}] Static member {member} with instance id {instance} has left group through explicit `LeaveGroup` "
        "request; client reason: not provided"
    )
    (event,) = analysed(tmp_path, server=[line(0, text, member=A, instance="t-1")]).group.events
    assert (event.kind, event.member_id, event.instance_id) == ("member_removed", A, "t-1")


def rebalances(count: int) -> list[str]:
    lines = []
    for number in range(count):
        reason = f"Adding new member x-71478f57-e382-43cf-81a9-3f338ceeda{number:02} with group instance id null"
        started = (
            f"Preparing to rebalance group {{group}} in state Stable with old generation {number} (reason: {reason})."
        )
        lines.append(line(60 * number, started))
        lines.append(
            line(60 * number + 3, f"Stabilized group {{group}} generation {number + 1} with {number + 1} members.")
        )
    return lines


@pytest.mark.parametrize(
    "pieces",
    [[slice(0, 8), slice(4, None)], [slice(0, None), slice(0, 6)], [slice(0, None), slice(0, None)], [slice(6, None), slice(0, None)]],
    ids=["overlap", "rotated part", "copy", "last part first"],
)  # fmt: skip
def test_overlapping_logs_equal_one_log(pieces: list[slice], tmp_path: Path) -> None:
    lines = rebalances(6)
    (tmp_path / "one").mkdir()
    (tmp_path / "both").mkdir()
    whole = analysed(tmp_path / "one", server=lines)
    both = analysed(tmp_path / "both", **{f"server-{n}": lines[piece] for n, piece in enumerate(pieces)})
    assert [r.why for r in both.rebalances] == [r.why for r in whole.rebalances]
    assert [(r.begin_ms, r.stable_ms) for r in both.rebalances] == [(r.begin_ms, r.stable_ms) for r in whole.rebalances]
    assert both.group.duplicate_lines == sum(len(lines[piece]) for piece in pieces) - len(lines)
    assert whole.group.duplicate_lines == 0


def test_repeated_rejections_count_in_one_log(tmp_path: Path) -> None:
    text = (
        "[GroupId {group}] Static member {member} with instance id {instance} cannot join the group because the instance id "
        "is owned by member {old}."
    )
    twice = [line(0, text, member=A, instance="t-1", old=B)] * 2
    analysis = analysed(tmp_path, server=twice, copy=twice)
    assert (len(analysis.events.unreleased), analysis.group.duplicate_lines) == (2, 2)
