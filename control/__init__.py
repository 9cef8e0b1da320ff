"""What a test may do to a running broker: move its clock, hold and spoil requests, and see what happened and why."""
