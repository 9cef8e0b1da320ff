"""A topic and its partitions, shared by the nodes of a cluster. `topics.py` creates and changes them."""

from dataclasses import dataclass
from uuid import UUID

from kohort.storage.log import PartitionLog
from kohort.storage.producers import Producers
from kohort.storage.topic_configs import LogConfig


@dataclass(slots=True, eq=False)
class Partition:
    index: int
    log: PartitionLog
    replicas: tuple[int, ...]  # node ids, the preferred leader first; running ones are in sync
    leader: int
    leader_epoch: int = 0
    producers: Producers | None = None  # created with the first batch that has a producer id

    @property
    def last_stable_offset(self) -> int:
        """Read-committed consumers read records before this offset."""
        high_watermark = self.log.high_watermark
        producers = self.producers
        if producers is None:
            return high_watermark
        return min(producers.transactions.last_stable_offset(high_watermark), high_watermark)


@dataclass(slots=True, eq=False)
class Topic:
    name: str
    topic_id: UUID
    partitions: list[Partition]
    configs: dict[str, str]  # explicitly set configurations; the others have the cluster's defaults
    internal: bool
    log_config: LogConfig

    def partition(self, index: int) -> Partition | None:
        return self.partitions[index] if 0 <= index < len(self.partitions) else None
