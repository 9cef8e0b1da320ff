"""Why a broker doesn't let us in."""


class LoginError(OSError):
    """The broker doesn't let us in, or isn't the one that knows our password, or we have nothing to show it."""
