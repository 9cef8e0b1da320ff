"""Alerts while a group runs, from a small state per group. The figures are computed later in `history`."""
