"""The features of a cluster (KIP-584), by release."""

from functools import cache
from typing import NamedTuple

from kohort.protocol.releases import CURRENT


class Feature(NamedTuple):
    """A feature, its levels, and the level of a new cluster; level 0 is not reported as finalized."""

    name: str
    lowest: int
    highest: int
    level: int
    may_move: bool = False  # whether kohort supports other levels


GROUP_VERSION = Feature("group.version", 0, 1, 1)  # consumer groups (KIP-848)

# transactions whose end bumps the producer epoch (KIP-890)
TRANSACTION_VERSION = Feature("transaction.version", 0, 2, 2)

# Share groups (KIP-932). At level 0 their APIs reject every request, and existing state is inaccessible.
# Level 2 adds dead letters (KIP-1191).
SHARE_VERSION = Feature("share.version", 0, 2, 2, may_move=True)

STREAMS_VERSION = Feature("streams.version", 0, 1, 1, may_move=True)  # Streams groups (KIP-1071), as for share groups.

KRAFT_VERSION = Feature("kraft.version", 0, 1, 0)  # dynamic voters (KIP-853); kohort has no voters

METADATA_VERSION = Feature("metadata.version", 7, 33, 33)  # metadata format of release 4.4

# eligible leader replicas (KIP-966); a leader always exists here
ELIGIBLE_LEADER_REPLICAS = Feature("eligible.leader.replicas.version", 0, 1, 1)

FEATURES = {
    feature.name: feature
    for feature in (
        GROUP_VERSION,
        KRAFT_VERSION,
        METADATA_VERSION,
        SHARE_VERSION,
        STREAMS_VERSION,
        TRANSACTION_VERSION,
        ELIGIBLE_LEADER_REPLICAS,
    )
}  # in Kafka's order

Levels = tuple[tuple[str, int], ...]  # feature names and levels, in Kafka's order

# Features of 4.3 that differ from those of 4.4.
_4_3 = (SHARE_VERSION._replace(highest=1, level=1), METADATA_VERSION._replace(highest=30, level=30))


@cache
def features_of(release: str) -> dict[str, Feature]:
    """Return the features of a release by name, in Kafka's order; none for releases before 4.3."""
    if release == CURRENT:
        return FEATURES
    return FEATURES | {feature.name: feature for feature in _4_3} if release == "4.3" else {}


def implemented_features_of(release: str) -> dict[str, Feature]:
    """Return the features that a broker has. Before 4.3, where none are reported, they are those of 4.3."""
    return features_of(release) or features_of("4.3")


def levels_of(release: str) -> Levels:
    """Return the levels of a new cluster."""
    return tuple((feature.name, feature.level) for feature in implemented_features_of(release).values())
