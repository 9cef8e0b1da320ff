"""HOST:PORT, in and out."""

import pytest

from kohort.base.address import AddressError, parse_address, parse_advertised, show_address


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:9092", "127.0.0.1", 9092), ("localhost:0", "localhost", 0), ("[::1]:65535", "::1", 65535)],
)
def test_addresses(text: str, host: str, port: int) -> None:
    assert parse_address(text) == (host, port)
    assert show_address(host, port) == text


@pytest.mark.parametrize("text", ["9092", ":9092"])
def test_port_means_this_machine(text: str) -> None:
    assert parse_address(text) == ("127.0.0.1", 9092)


@pytest.mark.parametrize("text", ["", ":", "70000", "localhost", "localhost:", "a:b", "::1:9092", "a:70000", "a:-1"])
def test_rejects_malformed_address(text: str) -> None:
    with pytest.raises(AddressError, match="HOST:PORT"):
        parse_address(text)


@pytest.mark.parametrize(
    ("text", "nodes", "addresses"),
    [
        ("", 2, [("dialled", 9092), ("dialled", 9093)]),
        ("kafka", 2, [("kafka", 9092), ("kafka", 9093)]),
        ("localhost:19092", 1, [("localhost", 19_092)]),
        ("localhost:19092", 2, [("localhost", 19_092), ("localhost", 19_093)]),
        ("a.example:1, b.example", 2, [("a.example", 1), ("b.example", 9093)]),
        ("[::1]:19092", 1, [("::1", 19_092)]),
        ("[::1]", 1, [("::1", 9092)]),
        ("fe80::1%eth0", 1, [("fe80::1%eth0", 9092)]),
    ],
)
def test_addresses_sent_to_clients(text: str, nodes: int, addresses: list[tuple[str, int]]) -> None:
    told = parse_advertised(text, nodes)
    assert [told.address(index, "dialled", 9092 + index) for index in range(nodes)] == addresses


@pytest.mark.parametrize(
    ("text", "nodes", "why"),
    [
        ("localhost:0", 1, "sends clients to port 0"),
        ("localhost:x", 1, "has no port"),
        ("http://localhost", 1, "has no port"),
        ("local host", 1, "names no host"),
        (",", 2, "names no host"),
        ("a,b", 3, "names 2 addresses, and there are 3 nodes"),
        ("a,b", 1, "names 2 addresses, and there is 1 node"),
        ("a:65535", 2, "need ports beyond 65535"),
    ],
)
def test_rejects_unadvertisable_address(text: str, nodes: int, why: str) -> None:
    with pytest.raises(AddressError, match=why):
        parse_advertised(text, nodes)
