"""Faults: rules that select requests, and what happens to them and when."""
