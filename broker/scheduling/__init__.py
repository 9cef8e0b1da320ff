"""When something is done: whose turn it is, what waits, what is done in a thread, what is written together."""
