"""What is remembered of a group between its events, while somebody listens: plain data."""

from collections.abc import Iterable
from typing import Any

from kohort.coordinator.owners import Owners
from kohort.coordinator.requesting_client import Client
from kohort.protocol.topic_partition import TopicPartition
from kohort.purgatory import DelayedOperation


class GroupEventState:
    """What is remembered of a group between its events."""

    __slots__ = (
        "evicted",
        "half_time",
        "joined_us",
        "known",
        "last_joined",
        "named",
        "next_shares",
        "owners",
        "rebalance_id",
        "rebalances",
        "stable_us",
        "started_us",
        "summary",
    )

    def __init__(self, known: Iterable[str], owners: Owners, now_us: int) -> None:
        self.rebalances = 0
        self.rebalance_id: str | None = None
        self.known = set(known)
        """Members of the last generation whose join phase was completed."""
        self.owners = owners
        self.next_shares: dict[str, frozenset[TopicPartition]] | None = None
        """The shares of the assignment that is being written; None: they cannot be read."""
        self.stable_us = now_us
        self.started_us = now_us
        self.joined_us = now_us
        self.last_joined: str | None = None
        self.evicted: list[str] = []
        self.half_time: DelayedOperation | None = None
        """Reports a join phase half of whose time is over."""
        self.summary: dict[str, Any] = {}
        """Who joined, left and was evicted, reported again when the rebalance is completed."""
        self.named: dict[tuple[str, str], tuple[Client, int, int]] = {}
        """(member id, error) of refusals that were reported already; client, generation, how many came after."""
