"""Group events: what happened to groups, from calls of the classic group and records of the consumer group."""
