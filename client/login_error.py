"""The error of a failed authentication."""


class LoginError(OSError):
    """The broker rejected the login, could not prove that it knows the password, or credentials are missing."""
