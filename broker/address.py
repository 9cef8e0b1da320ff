"""HOST:PORT, read and written."""


class AddressError(ValueError):
    """A text that is no address. Says in one sentence what one looks like."""


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `localhost:9092` or `[::1]:9092`. Raises AddressError."""
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    if not colon or not host or (":" in host and not bracketed):
        raise AddressError(f"{text} is no address; write HOST:PORT, as in 127.0.0.1:9092, localhost:0 or [::1]:9092")
    if not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise AddressError(f"{text} has no port; write HOST:PORT with a port from 0 (any free one) to 65535")
    return host, int(port)


def show_address(host: str, port: int) -> str:
    """HOST:PORT as one writes it, with brackets around IPv6."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def reachable(host: str) -> str:
    """A host that a client on this machine can dial, for one that means all addresses."""
    return {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
