"""The control address of a running broker: HTTP, beside Kafka's protocol, for those who run the cluster or break it.

One file per subject, each with a router; app.py puts them together, listening.py lets them be reached.
"""
