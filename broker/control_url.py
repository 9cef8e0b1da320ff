"""The control address as people write it, and as it is asked: `127.0.0.1:9099`, or `https://…` where it speaks TLS."""

SCHEMES = ("http://", "https://")


def is_url(address: str) -> bool:
    """Whether it says itself that it is asked by HTTP."""
    return address.startswith(SCHEMES)


def shown(address: str) -> str:
    """As it is named to people: without what goes without saying."""
    return address.removeprefix(SCHEMES[0]).rstrip("/")


def control_url(address: str) -> str:
    """What paths are put behind. Without a scheme it is plain HTTP."""
    address = address.rstrip("/")
    return address if is_url(address) else SCHEMES[0] + address
