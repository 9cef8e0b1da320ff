"""The shell: sockets, clock, settings, nodes, topics, and Kafka's APIs."""
