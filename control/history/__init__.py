"""Recorded group events: rebalances, the fates of records, and an overview of all groups."""
