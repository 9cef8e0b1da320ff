"""What is remembered of a consumer group between its events, while somebody listens: plain data."""

from collections.abc import Iterable

from kohort.coordinator.member_stats import MemberStats
from kohort.coordinator.owners import Owners
from kohort.coordinator.requesting_client import Client


class ConsumerEventState:
    """What is remembered of one group. Times are microseconds of a monotonic clock."""

    __slots__ = (
        "evicted",
        "is_open",
        "known",
        "named",
        "owners",
        "rebalance_id",
        "rebalances",
        "revoking_since_us",
        "slowest",
        "stable_us",
        "started_us",
        "stats",
    )

    def __init__(self, known: Iterable[str], owners: Owners, now_us: int, *, is_open: bool = False) -> None:
        self.rebalances = 0
        self.rebalance_id: str | None = None
        self.is_open = is_open
        """Whether a rebalance has begun that has not ended."""
        self.known = set(known)
        """Members when the group last had another epoch."""
        self.evicted: list[str] = []
        """Members that were removed since then because they were too slow."""
        self.owners = owners
        self.started_us = now_us
        self.stable_us = now_us
        self.revoking_since_us: dict[str, int] = {}
        """By member id, when it heard that it has to give up what it still has."""
        self.slowest: tuple[str, int] | None = None
        """Who took longest to give up partitions in this rebalance, and how long."""
        self.stats: dict[str, MemberStats] = {}
        """By member id, the objects that members have as `stats`. The last event of a member takes its own out."""
        self.named: dict[tuple[str, str], tuple[Client, int, int]] = {}
        """(member id, error) of refusals that were reported already; client, epoch, how many came after."""
