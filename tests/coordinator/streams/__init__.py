"""Streams groups: conversations with a coordinator on a clock of the test's own, and what is a pure function."""
