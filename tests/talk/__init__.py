"""Plays conversations (`tests/conversations/**/*.talk`) with a broker in this process, on a clock moved by hand."""
