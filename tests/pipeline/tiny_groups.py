"""Logs of many groups that do little: a rebalance, a few commits, a member that expires."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.pipeline.synthetic import Plan, write_segments

BEGIN = datetime(2026, 3, 14, 4, tzinfo=UTC)
MESSAGES = (
    (0, "Dynamic member with unknown member id joins group {group} in Empty state. Created a new member id {member} and "
        "requesting the member to rejoin with this id."),
    (5, "Preparing to rebalance group {group} in state PreparingRebalance with old generation 0 (reason: Adding new member "
        "{member} with group instance id null; client reason: not provided)."),
    (3006, "Stabilized group {group} generation 1 with 1 members."),
    (3016, "Assignment received from leader {member} for group {group} for generation 1. The group has 1 members, 0 of "
           "which are static."),
    (60_000, "Member {member} in group {group} has failed, removing it from the group."),
)  # fmt: skip
"""Messages of a broker's log about a group, and their times in milliseconds."""


def write_log(path: Path, groups: int) -> Path:
    """Write a broker's log. The sessions of all groups expire together."""
    lines = []
    for number in range(groups):
        member = f"app-{number}-0c5f0000-0000-4000-8000-{number:012x}"
        for ms, text in MESSAGES:
            at = BEGIN + timedelta(milliseconds=ms + 37 * number)
            message = text.format(group=f"team-{number}", member=member)
            lines.append(
                f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03}] INFO [GroupCoordinator id=1] {message} "
                "(org.apache.kafka.coordinator.group.GroupMetadataManager)\n"
            )
    path.write_text("".join(lines))
    return path


def write_commits(folder: Path, groups: int) -> Path:
    """Write segments: each group has two members, three partitions and six commits."""
    plan = Plan(records=6 * groups, groups=groups, parts=3, members=2, rebalance_every=2)
    write_segments(plan, folder)
    return folder
