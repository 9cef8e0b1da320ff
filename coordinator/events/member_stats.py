"""Heartbeats and commits of members in sums: one row a minute each, not one a heartbeat (offsets-topic §9.2)."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple


class Beats(NamedTuple):
    """What a minute of heartbeats came to."""

    longest_us: int
    detail: dict[str, str]
    """How many gaps between heartbeats there were, and two percentiles of their lengths."""


class MemberStats:
    """One member's; `heartbeating.heartbeat` keeps it.

    Gaps are kept as lengths and how often each came: exact, and no longer than they are different.
    """

    __slots__ = ("client_software", "commits", "committed_partitions", "gaps", "heard_ms", "rejected")

    def __init__(self, client_software: str | None, now_ms: int) -> None:
        self.client_software = client_software
        self.heard_ms = now_ms
        """When it sent its last heartbeat, or was answered its waiting join or sync: until then it need not beat."""
        self.gaps: defaultdict[int, int] = defaultdict(int)
        """Milliseconds to how often."""
        self.commits = 0
        self.committed_partitions = 0
        self.rejected = 0

    def take_beats(self) -> Beats | None:
        """The sums so far, which begin anew; None if there was no heartbeat."""
        gaps, self.gaps = self.gaps, defaultdict(int)
        if not gaps:
            return None
        total = sum(gaps.values())
        # A request that came together with the one before it bears the same time, which can be before its answer's.
        p50, p99, longest = (max(0, percentile(gaps, total, share)) for share in (0.50, 0.99, 1.0))
        detail = {"n": str(total), "p50_us": str(p50 * 1000), "p99_us": str(p99 * 1000)}
        return Beats(longest * 1000, detail)


def flushed(stats: MemberStats) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a member's heartbeats and commits came to since this was last asked: kinds of events, and what they say."""
    beats = stats.take_beats()
    if beats is not None:
        yield "heartbeat_stats", {"duration_us": beats.longest_us, "detail": beats.detail}
    if stats.commits or stats.rejected:
        detail = {"n": str(stats.commits), "rejected": str(stats.rejected)}
        yield "commit_stats", {"partitions": stats.committed_partitions, "detail": detail}
        stats.commits = stats.rejected = stats.committed_partitions = 0


def percentile(counts: dict[int, int], total: int, share: float) -> int:
    """The smallest value that at least this share of all is not above."""
    below = 0
    for value in sorted(counts):
        below += counts[value]
        if below >= share * total:
            return value
    raise ValueError("nothing was counted")
