"""Real client libraries over real sockets, against `kohort serve` in a process of its own."""
