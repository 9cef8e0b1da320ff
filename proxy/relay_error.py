"""Error of a connection through the proxy that must be closed."""


class RelayError(Exception):
    """Data that can't be passed on, so that both connections are closed. The text is the reason for the log."""
