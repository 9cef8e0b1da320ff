"""The features of a cluster (KIP-584), with the levels of Apache Kafka 4.3."""

from typing import NamedTuple


class Feature(NamedTuple):
    """A feature, its levels, and the one that a new cluster has; a level of 0 is not told as one that counts."""

    name: str
    lowest: int
    highest: int
    level: int
    may_move: bool = False
    """Whether it can have another level here."""


GROUP_VERSION = Feature("group.version", 0, 1, 1)
"""Groups of the consumer protocol (KIP-848)."""

TRANSACTION_VERSION = Feature("transaction.version", 0, 2, 2)
"""Transactions whose end gives the producer its next epoch (KIP-890)."""

SHARE_VERSION = Feature("share.version", 0, 1, 1, may_move=True)
"""Share groups (KIP-932). At level 0 their APIs refuse everything, and what there is of them stays behind that gate."""

STREAMS_VERSION = Feature("streams.version", 0, 1, 1, may_move=True)
"""Streams groups (KIP-1071); likewise."""

KRAFT_VERSION = Feature("kraft.version", 0, 1, 0)
"""Voters that can be exchanged (KIP-853): there are none to exchange."""

METADATA_VERSION = Feature("metadata.version", 7, 30, 30)
"""The release that the cluster's records are written for: 4.3."""

ELIGIBLE_LEADER_REPLICAS = Feature("eligible.leader.replicas.version", 0, 1, 1)
"""Which replicas may lead next (KIP-966); a leader is always there."""

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
}
"""In Kafka's order."""

Levels = tuple[tuple[str, int], ...]
"""Names and levels of features, in Kafka's order."""

LEVELS: Levels = tuple((feature.name, feature.level) for feature in FEATURES.values())
"""Those of a new cluster."""
