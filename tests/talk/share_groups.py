"""What is left out in requests about share groups, and the short forms of them. Listed in README.md here."""

from __future__ import annotations

from tests.talk.compare import Names
from tests.talk.values import Value

HEARTBEAT, DESCRIBE = "ShareGroupHeartbeat", "ShareGroupDescribe"
WORDS = {"epoch": "member_epoch", "topics": "subscribed_topic_names", "rack": "rack_id"}
DESCRIBED_MEMBER = {"rack_id": None, "client_host": "/127.0.0.1"}


def heartbeat(values: Value, names: Names, person: str) -> Value:
    """With the epoch heard last; a newcomer has 0."""
    values = {WORDS.get(word, word): value for word, value in values.items()}
    values.setdefault("group_id", "$group")
    values.setdefault("member_id", names.setdefault(person, f"{person}-member"))
    values.setdefault("member_epoch", names.get(f"{person}_epoch", 0))
    return values
