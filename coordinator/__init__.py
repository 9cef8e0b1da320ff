"""Groups: members, generations, offsets, placement. Without sockets, clock and randomness.

`coordinator.py` has the groups of a node; the modules named after the operations change them.
"""
