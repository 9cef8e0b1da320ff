"""Kafka's group coordination without a Kafka cluster.

The imports of this package are in its subpackages, so that `import kohort` costs nothing.

PYTEST_DONT_REWRITE: a process that imported kohort before it runs pytest must not be warned that it is too late to
rewrite asserts here.
"""
