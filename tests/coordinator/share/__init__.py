"""Share groups: tests with a coordinator and a manual clock, and tests of pure functions."""
