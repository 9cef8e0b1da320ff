"""Group events, created from calls of classic groups and from records of groups of the newer protocols."""
