"""The control address as users write it: `127.0.0.1:9099`, or `https://…` if it uses TLS."""

SCHEMES = ("http://", "https://")


def is_url(address: str) -> bool:
    return address.startswith(SCHEMES)


def display_address(address: str) -> str:
    """Return the address as shown to users, without the default scheme."""
    return address.removeprefix(SCHEMES[0]).rstrip("/")


def control_url(address: str) -> str:
    """Return the base URL of a control address. Without a scheme it is plain HTTP."""
    address = address.rstrip("/")
    return address if is_url(address) else SCHEMES[0] + address
