"""Key of a share partition: group, topic id and partition."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, NamedTuple
from uuid import UUID

TopicIdPartition = tuple[UUID, int]  # topic id and partition number

_INT_MAX: Final = 2**31 - 1
_WRITTEN: Final = re.compile(r"(.+):([A-Za-z0-9_-]{22}):(\d{1,10})", re.DOTALL)


class SharePartitionKey(NamedTuple):
    """Partition of one share group."""

    group_id: str
    topic_id: UUID
    partition: int

    @property
    def text(self) -> str:
        """Coordinator key, which is also hashed: `group:topicId:partition` with the id in base64."""
        return f"{self.group_id}:{in_base64(self.topic_id)}:{self.partition}"


def in_base64(topic_id: UUID) -> str:
    """Return a topic id in 22 characters, as Kafka's `Uuid.toString`."""
    return urlsafe_b64encode(topic_id.bytes)[:22].decode()


def read_key(text: str) -> SharePartitionKey | None:
    """Parse a coordinator key. Return None if it is invalid. Source: Kafka's `SharePartitionKey.validate`."""
    match = _WRITTEN.fullmatch(text)
    if match is None or int(match[3]) > _INT_MAX:
        return None
    return SharePartitionKey(match[1], UUID(bytes=urlsafe_b64decode(match[2] + "==")), int(match[3]))
