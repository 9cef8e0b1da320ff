"""Committed offsets of groups: commits, fetches, transactions, and their records."""
