"""Streams groups (KIP-1071): the coordinator knows the topology of an application, and shares out its tasks."""
