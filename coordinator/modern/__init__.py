"""Parts that the groups of the newer protocols share: epochs, targets, sessions, and writes to the log.

Corresponds to Kafka's package `group.modern`.
"""
