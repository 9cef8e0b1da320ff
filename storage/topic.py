"""A topic and its partitions, as the nodes of a cluster share them. `topics.py` makes and changes them."""

from dataclasses import dataclass
from uuid import UUID

from kohort.storage.log import PartitionLog
from kohort.storage.producers import Producers
from kohort.storage.topic_configs import LogConfig


@dataclass(slots=True, eq=False)
class Partition:
    """One partition of a topic."""

    index: int
    log: PartitionLog
    replicas: tuple[int, ...]
    """Node ids, those that run in sync; the preferred leader first."""
    leader: int
    leader_epoch: int = 0
    producers: Producers | None = None
    """Made when the first batch comes that names its producer."""

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which those may read who want committed records only."""
        high_watermark = self.log.high_watermark
        producers = self.producers
        if producers is None:
            return high_watermark
        return min(producers.transactions.last_stable_offset(high_watermark), high_watermark)


@dataclass(slots=True, eq=False)
class Topic:
    """One topic."""

    name: str
    topic_id: UUID
    partitions: list[Partition]
    configs: dict[str, str]
    """What was set for this topic; everything else has the cluster's default."""
    internal: bool
    log_config: LogConfig

    def partition(self, index: int) -> Partition | None:
        """The partition of that number, or None."""
        return self.partitions[index] if 0 <= index < len(self.partitions) else None
