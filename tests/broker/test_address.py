"""HOST:PORT, in and out."""

import pytest

from kohort.broker.address import AddressError, parse_address, show_address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:9092", "127.0.0.1", 9092), ("localhost:0", "localhost", 0), ("[::1]:65535", "::1", 65535)],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert parse_address(text) == (host, port)
    assert show_address(host, port) == text


@pytest.mark.parametrize("text", ["", "9092", ":9092", "localhost", "localhost:", "a:b", "::1:9092", "a:70000", "a:-1"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(AddressError, match="HOST:PORT"):
        parse_address(text)
