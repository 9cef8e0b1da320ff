"""Groups: members, generations, offsets, placement. No sockets, no clock, no chance.

`coordinator.py` holds a node's groups; what may be done to them is in the files named after it.
"""
