"""Alerts while a group runs, from a small memory of each group. Figures come later, from `history`."""
