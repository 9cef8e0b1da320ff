"""Topology of a streams group: its checks, and the results of configuring it with the existing topics.

The results are numbers of partitions and tasks, missing internal topics, and topics with wrong partition counts
(streams-groups §3, §6). Pure functions of a topology and of the partition count of each topic.
"""

from kohort.coordinator.streams.topology.configured_topology import BrokenTopology, ConfiguredTopology, InvalidTopology
from kohort.coordinator.streams.topology.configuring import Configuring, configuring
from kohort.coordinator.streams.topology.topology_checks import check_topology

__all__ = [
    "BrokenTopology",
    "ConfiguredTopology",
    "Configuring",
    "InvalidTopology",
    "check_topology",
    "configuring",
]
