"""What the nodes of a cluster share, and what happens to it: topics, leaders, effects, syncs, events."""
