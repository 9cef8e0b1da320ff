"""What groups of the newer protocols have in common: epochs, targets, sessions, and how they write.

Kafka has the same in its package `group.modern`.
"""
