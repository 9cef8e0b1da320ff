"""The shell: sockets, clock, settings, nodes, topics, the command line."""
