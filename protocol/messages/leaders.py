"""Leader of a partition: common part of Produce and Fetch responses (KIP-951)."""

from struct import Struct

from kohort.protocol.shape import shape
from kohort.protocol.wire import INT, compact_length, compact_string

_LEADER = Struct(">iiB").pack


@shape
class LeaderIdAndEpoch:
    leader_id: int = -1
    leader_epoch: int = -1


@shape
class NodeEndpoint:
    node_id: int
    host: str
    port: int
    rack: str | None = None


def leader_and_epoch(leader: LeaderIdAndEpoch) -> bytes:
    """Encode as a structure of a flexible version."""
    return _LEADER(leader.leader_id, leader.leader_epoch, 0)


def node_endpoints(nodes: tuple[NodeEndpoint, ...]) -> bytes:
    """Encode as an array of a flexible version."""
    parts = [compact_length(len(nodes))]
    for node in nodes:
        parts += INT.pack(node.node_id), compact_string(node.host), INT.pack(node.port)
        parts += compact_string(node.rack), b"\x00"
    return b"".join(parts)
