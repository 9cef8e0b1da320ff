"""The token of the control address, as a client sends it and as the broker compares it."""

from __future__ import annotations

SCHEME = "Bearer"


class TokenError(ValueError):
    """A token that an HTTP header cannot carry. The text is one sentence."""


def checked(token: str) -> str:
    """Return the token.

    Raises:
        TokenError: If a header would change it: it has spaces at its ends, or control characters.
    """
    if token != token.strip() or not token.isprintable():
        raise TokenError(
            "the control token begins or ends with a blank, or has a line end or control character in it, which an "
            "HTTP header can't carry; set KOHORT_CONTROL_TOKEN without"
        )
    return token


def headers(token: str) -> dict[str, str]:
    """Return the HTTP headers with the token; none if it is empty.

    The token's UTF-8 bytes are characters here, which `http.client` writes as these bytes.
    """
    return {"Authorization": f"{SCHEME} {checked(token).encode().decode('latin-1')}"} if token else {}


def is_shown(token: str, authorization: str) -> bool:
    """Return whether the header contains the token. Takes the same time for every wrong token of a length.

    Args:
        authorization: The header, one character for each byte. Clients encode `ü` as UTF-8 (curl) or Latin-1 (Java,
            browsers).
    """
    from secrets import compare_digest  # loads OpenSSL, which brokers without a control address do not need

    scheme, _, header = authorization.partition(" ")
    sent = header.strip(" ").encode("latin-1")
    written = [token.encode()]
    if all(letter <= "\xff" for letter in token):
        written.append(token.encode("latin-1"))
    fits = [compare_digest(sent, encoding) for encoding in written]
    return scheme.lower() == SCHEME.lower() and any(fits)
