"""What the numbers mean: one file per rule, `ALL` in their order, `diagnose` runs them on a group's analysis."""
