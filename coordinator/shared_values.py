"""What members have in common is kept once.

Thousands of members of one application name the same client, protocols, topics and timeouts, and each request brings
them anew. Texts are shared for as long as somebody keeps one (`sys.intern`), others with those who came lately.
"""

from functools import lru_cache
from sys import intern

KEPT = 256
"""At most this many different values of a kind are remembered, the last that came."""

LARGEST_BYTES = 2048
"""Larger ones are not shared: what is remembered must stay small, and few members say so much."""

Protocols = tuple[tuple[str, bytes], ...]
"""A member's protocols in its own order: name and metadata."""


def shared_protocols(protocols: Protocols) -> Protocols:
    """Equal protocols, which others may have, too."""
    named = tuple([(intern(name), metadata) for name, metadata in protocols])
    return _protocols(named) if sum([len(metadata) for _, metadata in named]) <= LARGEST_BYTES else named


def shared_topics(topics: frozenset[str]) -> frozenset[str]:
    """An equal set, which others may have, too."""
    named = frozenset([intern(topic) for topic in topics])
    return _topics(named) if sum(map(len, named)) <= LARGEST_BYTES else named


@lru_cache(maxsize=KEPT)
def _protocols(protocols: Protocols) -> Protocols:
    return protocols


@lru_cache(maxsize=KEPT)
def _topics(topics: frozenset[str]) -> frozenset[str]:
    return topics


@lru_cache(maxsize=KEPT)
def shared_timeout(timeout_ms: int) -> int:
    """An equal number, which others may have, too."""
    return timeout_ms
