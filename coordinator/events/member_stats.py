"""Statistics of heartbeats and commits: one row per member and minute, not one per heartbeat (offsets-topic §9.2)."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple


class Beats(NamedTuple):
    """Heartbeats of a minute."""

    longest_us: int
    detail: dict[str, str]  # number of gaps between heartbeats, and two percentiles of their lengths


class MemberStats:
    """Statistics of one member; `heartbeating.heartbeat` updates them.

    Gaps are counted by length, which is exact and takes no more space than there are different lengths.
    """

    __slots__ = ("client_software", "commits", "committed_partitions", "gaps", "last_active_ms", "rejected")

    def __init__(self, client_software: str | None, now_ms: int) -> None:
        self.client_software = client_software
        # Time of the last heartbeat or of the response to a pending join or sync, during which no heartbeat is
        # required.
        self.last_active_ms = now_ms
        self.gaps: defaultdict[int, int] = defaultdict(int)  # count by length in milliseconds
        self.commits = 0
        self.committed_partitions = 0
        self.rejected = 0

    def take_beats(self) -> Beats | None:
        """Return and reset the heartbeat statistics, or return None without heartbeats."""
        gaps, self.gaps = self.gaps, defaultdict(int)
        if not gaps:
            return None
        total = sum(gaps.values())
        # A request in the same batch as the previous one has the same time, which can precede that of the response.
        p50, p99, longest = (max(0, percentile(gaps, total, fraction)) for fraction in (0.50, 0.99, 1.0))
        detail = {"n": str(total), "p50_us": str(p50 * 1000), "p99_us": str(p99 * 1000)}
        return Beats(longest * 1000, detail)


def flushed(stats: MemberStats) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the event kinds and columns of the statistics since the last call, and reset them."""
    beats = stats.take_beats()
    if beats is not None:
        yield "heartbeat_stats", {"duration_us": beats.longest_us, "detail": beats.detail}
    if stats.commits or stats.rejected:
        detail = {"n": str(stats.commits), "rejected": str(stats.rejected)}
        yield "commit_stats", {"partitions": stats.committed_partitions, "detail": detail}
        stats.commits = stats.rejected = stats.committed_partitions = 0


def percentile(counts: dict[int, int], total: int, fraction: float) -> int:
    """Return the smallest value that at least this fraction of all values does not exceed."""
    below = 0
    for value in sorted(counts):
        below += counts[value]
        if below >= fraction * total:
            return value
    raise ValueError("nothing was counted")
