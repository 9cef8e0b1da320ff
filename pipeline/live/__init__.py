"""What is said while it happens: a small memory of each group, and alerts. Figures come from `history`, later."""
