"""Processes of the demo: a consumer or the producer each. They report over stdout and read orders from stdin."""
