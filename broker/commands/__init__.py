"""What `kohort` can be told to do; one module a command, loaded when it is given."""
