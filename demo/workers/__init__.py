"""Processes of the demo: a consumer or the producer each. They report over stdout and take orders over stdin."""
