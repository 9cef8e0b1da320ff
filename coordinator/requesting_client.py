"""The client of a request, as named in group events."""

from typing import NamedTuple


class Client(NamedTuple):
    """The client of a request."""

    client_id: str
    client_host: str  # in Java's format of an address: `/127.0.0.1`
    client_software: str | None = None  # name and version from ApiVersions (KIP-511), if sent


NOBODY_KNOWN = Client("", "")
