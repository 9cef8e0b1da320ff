"""R22: commits by members that have left the group. Needs events."""

from __future__ import annotations

from collections.abc import Iterator

from kohort.pipeline.history.group_analysis import GroupAnalysis
from kohort.pipeline.rules.finding import CERTAIN, WARNING, Finding, several
from kohort.pipeline.sources.source_rows import GroupEvent

ID = "R22"
_ZOMBIE = ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")


def find(analysis: GroupAnalysis) -> Iterator[Finding]:
    by_client: dict[str, list[GroupEvent]] = {}
    for event in analysis.events.rejected:
        if (event.error or "").upper() in _ZOMBIE:
            by_client.setdefault(event.client_id or event.member_id or "unknown", []).append(event)
    rounds = max(1, len(analysis.settled))
    for client, hits in by_client.items():
        refused = sum(_times(hit) for hit in hits)
        if refused < rounds:
            continue
        yield Finding(
            ID,
            "Commits of a removed member",
            WARNING,
            CERTAIN,
            f"{several(refused, 'commit')} of {client} {'was' if refused == 1 else 'were'} rejected because it had left "
            "the group: that work is done twice",
            f"Check what {client} does between two polls: it was removed while it still worked. Use a smaller max.poll.records, "
            "or raise max.poll.interval.ms if the processing needs it.",
            hits[0].ts,
            hits[-1].ts,
            [client],
            {"rejected": refused, "errors": sorted({event.error for event in hits if event.error})},
        )


def _times(event: GroupEvent) -> int:
    """Return the number of rejections in a row: one, or the count of those that followed within a minute."""
    count = (event.detail or {}).get("n", "")
    return int(count) if count.isdigit() else 1
