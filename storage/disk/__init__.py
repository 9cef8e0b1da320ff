"""Logs as files, in the layout of Apache Kafka."""
