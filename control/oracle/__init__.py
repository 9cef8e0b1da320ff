"""The safety oracle: invariants that hold whatever a test does, per group type."""
