"""Recorded conversations about what kohort does not do yet; neither played here nor by `make conformance`."""

from fnmatch import fnmatch

LATER: dict[str, str] = dict.fromkeys(
    ("kafka-4.4/streams/topology-of-an-older-epoch", "kafka-4.4/streams/standby-moves-within-a-process"),
    "the order of one of Kafka's hash maps",
)
"""Name, or pattern of names, and what is missing."""


def why_later(name: str) -> str | None:
    """What `classic/some-conversation` waits for; None: it is to be played."""
    return next((reason for pattern, reason in LATER.items() if fnmatch(name, pattern)), None)
