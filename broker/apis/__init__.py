"""Handlers of Kafka's APIs, one file per API: its key, its versions and their differences."""
