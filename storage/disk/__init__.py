"""Logs as files, in the layout that Apache Kafka gives them."""
