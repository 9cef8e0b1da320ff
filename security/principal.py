"""Who sends a request, as ACLs and super users name them: a type and a name.

Source: Kafka's `KafkaPrincipal` and `SecurityUtils.parseKafkaPrincipal`.
"""

from __future__ import annotations

from typing import NamedTuple

USER = "User"
"""The type of all principals that Kafka itself makes."""


class PrincipalError(ValueError):
    """A text that is no principal. The text of the error is what Kafka answers."""


class Principal(NamedTuple):
    """A type and a name; `str` shows `User:alice`. Two are equal when both parts are, upper and lower case included."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal(USER, "ANONYMOUS")
"""Who has not said who they are: everybody on PLAINTEXT, and on SSL without a client certificate."""


def parse_principal(text: str) -> Principal:
    """The principal of `User:alice`. The name may hold colons, the type may not. Raises PrincipalError."""
    kind, colon, name = text.partition(":")
    if not colon:
        raise PrincipalError(
            f"Could not parse principal from `{text}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    return Principal(kind, name)
