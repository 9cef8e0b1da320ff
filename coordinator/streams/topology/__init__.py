"""The topology of a streams group: what no group accepts, and what follows from it and from the topics that there are.

Numbers of partitions and tasks, internal topics that are missing, and topics that do not fit (streams-groups §3, §6).
Pure functions of a topology and of the partitions that each topic has.
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
