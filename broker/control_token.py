"""The token of the control address, as a client shows it and as the broker compares it."""

from __future__ import annotations

SCHEME = "Bearer"


class TokenError(ValueError):
    """A token that no header can carry. The text is one sentence."""


def checked(token: str) -> str:
    """The token. Raises TokenError where a header would change it: for blanks at its ends, and control characters."""
    if token != token.strip() or not token.isprintable():
        raise TokenError(
            "the control token begins or ends with a blank, or has a line end or control character in it, which an "
            "HTTP header can't carry; set KOHORT_CONTROL_TOKEN without"
        )
    return token


def headers(token: str) -> dict[str, str]:
    """What a client sends: the token in UTF-8, as letters that `http.client` writes as these bytes; empty: nothing."""
    return {"Authorization": f"{SCHEME} {checked(token).encode().decode('latin-1')}"} if token else {}


def is_shown(token: str, authorization: str) -> bool:
    """Whether that header shows the token. Takes the same time for each wrong one of a length.

    `authorization`: the header's bytes, a letter each. Clients write `ü` as UTF-8 (curl) or Latin-1 (Java, browsers).
    """
    from secrets import compare_digest  # with OpenSSL behind it: not for brokers without a control address

    scheme, _, shown = authorization.partition(" ")
    sent = shown.strip(" ").encode("latin-1")
    written = [token.encode()]
    if all(letter <= "\xff" for letter in token):
        written.append(token.encode("latin-1"))
    fits = [compare_digest(sent, each) for each in written]
    return scheme.lower() == SCHEME.lower() and any(fits)
