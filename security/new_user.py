"""Parses a SCRAM user on a command line: `SCRAM-SHA-256=[name=alice,password=alice-secret]`.

Source: Kafka's `ScramParser`, which kafka-storage uses for `--add-scram`.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from typing import NamedTuple

from kohort.security.sasl.scram import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramCredential,
    ScramMechanism,
    credential_of,
    salted_password,
)

_WHOLE = re.compile(r"(?P<mechanism>SCRAM-SHA-256|SCRAM-SHA-512)=\[(?P<values>.*)\]", re.DOTALL)
_VALUE = re.compile(r"(?P<name>name|password|saltedpassword|salt|iterations)=(?P<value>\"[^\"]*\"|[^,]*)(?:,|$)")


class NewUserError(ValueError):
    """A malformed user. The text never shows the password."""


class NewUser(NamedTuple):
    """A user and the credential to store."""

    name: str
    mechanism: ScramMechanism
    credential: ScramCredential


def parse_new_user(text: str, salt: bytes) -> NewUser:
    """Parse a user. Takes some milliseconds.

    Args:
        salt: Salt to use if the text has none.

    Raises:
        NewUserError: The text is malformed.
    """
    whole = _WHOLE.fullmatch(text.strip())
    if whole is None:
        raise NewUserError("names no user; write SCRAM-SHA-256=[name=alice,password=…], or SCRAM-SHA-512=[…]")
    values = _values(whole["values"])
    mechanism = ScramMechanism[whole["mechanism"].replace("-", "_")]
    if not values.get("name"):
        raise NewUserError("has no name; write name=alice")
    if ("password" in values) == ("saltedpassword" in values):
        raise NewUserError("has no password, or two; write password=…, or saltedpassword=… and salt=…")
    iterations = _iterations(values.get("iterations", str(MIN_ITERATIONS)))
    if "saltedpassword" in values and "salt" not in values:
        raise NewUserError("has a saltedpassword without its salt; write salt=…")
    salt = _bytes(values, "salt") if "salt" in values else salt
    if "password" in values:
        if not values["password"]:
            raise NewUserError("has an empty password")
        salted = salted_password(mechanism, values["password"], salt, iterations)
    else:
        salted = _bytes(values, "saltedpassword")
    return NewUser(values["name"], mechanism, credential_of(mechanism, salted, salt, iterations))


def _values(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _VALUE.match(text, at)
        if match is None:
            raise NewUserError("holds something else than name, password, iterations, salt and saltedpassword")
        if match["name"] in values:
            raise NewUserError(f"has {match['name']} twice")
        values[match["name"]] = match["value"].strip('"')
        at = match.end()
    return values


def _iterations(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not MIN_ITERATIONS <= int(text) <= MAX_ITERATIONS:
        raise NewUserError(f"has iterations={text[:20]}; it must be from {MIN_ITERATIONS} to {MAX_ITERATIONS}")
    return int(text)


def _bytes(values: dict[str, str], name: str) -> bytes:
    try:
        return b64decode(values[name], validate=True)
    except Base64Error:
        raise NewUserError(f"has a {name} that is not base64") from None
