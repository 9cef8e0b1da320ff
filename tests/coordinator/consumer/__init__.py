"""Tests of the pure functions of consumer groups, and of failing writes."""
