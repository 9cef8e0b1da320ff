"""Why a client and the cluster can't be brought together."""


class RelayError(Exception):
    """What was sent can't be passed on, so that both sides are hung up on. The text is the reason for the log."""
