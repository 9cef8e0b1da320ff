"""The parts of consumer groups that are pure functions, and what happens when a write fails."""
