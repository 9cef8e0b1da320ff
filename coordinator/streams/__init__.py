"""Streams groups (KIP-1071): the coordinator keeps the topology of an application and assigns its tasks."""
