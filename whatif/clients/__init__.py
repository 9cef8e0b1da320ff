"""Model clients: group members without a connection, and the client libraries around them.

The simulation tests drive the same members.
"""
