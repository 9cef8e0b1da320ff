"""The state that a cluster's nodes share, and its changes: topics, leaders, effects, syncs, events."""
