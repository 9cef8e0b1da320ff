"""The sender of a request, as used by ACLs and super users: a type and a name.

Source: Kafka's `KafkaPrincipal` and `SecurityUtils.parseKafkaPrincipal`.
"""

from __future__ import annotations

from typing import NamedTuple

USER = "User"  # type of all principals that Kafka itself creates


class PrincipalError(ValueError):
    """A malformed principal. The text is Kafka's error message."""


class Principal(NamedTuple):
    """A type and a name; `str` shows `User:alice`. Comparison is case-sensitive."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


# unauthenticated clients: every client on PLAINTEXT, and on SSL those without a certificate
ANONYMOUS = Principal(USER, "ANONYMOUS")


def parse_principal(text: str) -> Principal:
    """Parse a principal such as `User:alice`. The name can contain colons, the type cannot.

    Raises:
        PrincipalError: The text is malformed.
    """
    kind, colon, name = text.partition(":")
    if not colon:
        raise PrincipalError(
            f"Could not parse principal from `{text}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    return Principal(kind, name)
