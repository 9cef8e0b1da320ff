"""Sharing of equal values between members.

Thousands of members of one application have the same client id, protocols, topics and timeouts, and each request
contains them again. Texts are shared while they are in use (`sys.intern`), other values with the most recent ones.
"""

from functools import lru_cache
from sys import intern

from kohort.protocol.consumer_protocol import subscribed_topics

KEPT = 256  # maximum number of cached values of a type

LARGEST_BYTES = 2048  # larger values are not cached, and few members have them

Protocols = tuple[tuple[str, bytes], ...]  # a member's protocols in its own order: name and metadata


def shared_protocols(protocols: Protocols) -> Protocols:
    """Return equal protocols, which may be shared with other members."""
    named = tuple([(intern(name), metadata) for name, metadata in protocols])
    return _protocols(named) if sum([len(metadata) for _, metadata in named]) <= LARGEST_BYTES else named


def shared_topics(topics: frozenset[str]) -> frozenset[str]:
    named = frozenset([intern(topic) for topic in topics])
    return _topics(named) if sum(map(len, named)) <= LARGEST_BYTES else named


def shared_subscription(metadata: bytes) -> frozenset[str] | None:
    """Return the topics of a subscription, or None if the bytes end early or a limit is exceeded.

    Raises:
        ImpossibleLengthError: A length is invalid.
    """
    return _subscription(metadata) if len(metadata) <= LARGEST_BYTES else subscribed_topics(metadata)


@lru_cache(maxsize=KEPT)
def _subscription(metadata: bytes) -> frozenset[str] | None:
    topics = subscribed_topics(metadata)
    return None if topics is None else shared_topics(topics)


@lru_cache(maxsize=KEPT)
def _protocols(protocols: Protocols) -> Protocols:
    return protocols


@lru_cache(maxsize=KEPT)
def _topics(topics: frozenset[str]) -> frozenset[str]:
    return topics


@lru_cache(maxsize=KEPT)
def shared_timeout(timeout_ms: int) -> int:
    return timeout_ms
