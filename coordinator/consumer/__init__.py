"""Groups of the consumer protocol (KIP-848): the coordinator assigns partitions, and members only send heartbeats."""
