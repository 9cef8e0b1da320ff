"""Who is behind a request, as group events name them."""

from typing import NamedTuple


class Client(NamedTuple):
    """Who is behind a request."""

    client_id: str
    client_host: str
    """As Java prints an address: `/127.0.0.1`."""
    client_software: str | None = None
    """Name and version from ApiVersions (KIP-511), where the client gave them."""


NOBODY_KNOWN = Client("", "")
