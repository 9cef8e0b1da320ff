"""The name under which the state of a share partition is kept: a group, a topic's id, a partition."""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final, NamedTuple
from uuid import UUID

TopicIdPartition = tuple[UUID, int]
"""A topic's id, and the index of one of its partitions."""

_INT_MAX: Final = 2**31 - 1
_WRITTEN: Final = re.compile(r"(.+):([A-Za-z0-9_-]{22}):(\d{1,10})", re.DOTALL)


class SharePartitionKey(NamedTuple):
    """A partition as one group sees it."""

    group_id: str
    topic_id: UUID
    partition: int

    @property
    def text(self) -> str:
        """What clients ask for a coordinator with, and what is hashed: `group:topicId:partition`, the id in base64."""
        return f"{self.group_id}:{in_base64(self.topic_id)}:{self.partition}"


def in_base64(topic_id: UUID) -> str:
    """A topic's id in 22 characters, as Kafka writes it (`Uuid.toString`)."""
    return urlsafe_b64encode(topic_id.bytes)[:22].decode()


def read_key(text: str) -> SharePartitionKey | None:
    """The key that `text` means; None: it is none. Source: Kafka's `SharePartitionKey.validate`."""
    found = _WRITTEN.fullmatch(text)
    if found is None or int(found[3]) > _INT_MAX:
        return None
    return SharePartitionKey(found[1], UUID(bytes=urlsafe_b64decode(found[2] + "==")), int(found[3]))
