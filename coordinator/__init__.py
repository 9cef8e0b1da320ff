"""Groups: members, generations, offsets, placement. No sockets, no clock, no chance."""
