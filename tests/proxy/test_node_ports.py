"""Nodes come, move and go: each keeps its port for as long as it may come back."""

from __future__ import annotations

import pytest

from kohort.base.address import AddressError
from kohort.proxy.node_ports import FORGOTTEN_MS, Target, Targets, chosen_ports


class Ports:
    """Ports as they are made and given back."""

    def __init__(self) -> None:
        self.open: dict[int, Target] = {}
        self.bootstrap = Target("the cluster", [("begin", 9092)])
        self.targets = Targets(self.bootstrap, self._opened, self._closed)

    def _opened(self, target: Target) -> int:
        port = 100 + len(self.open)
        self.open[port] = target
        return port

    def _closed(self, target: Target) -> None:
        self.open = {port: each for port, each in self.open.items() if each is not target}


def test_moved_node_keeps_its_port() -> None:
    ports = Ports()
    assert ports.targets.port(1, "a", 9092) == 100
    assert ports.targets.port(2, "b", 9092) == 101
    assert ports.targets.port(1, "elsewhere", 9093) == 100
    assert ports.open[100].addresses == [("elsewhere", 9093)]


def test_long_missing_node_is_forgotten() -> None:
    ports = Ports()
    ports.targets.port(1, "a", 9092)
    ports.targets.port(2, "b", 9092)
    ports.targets.listed({1}, 1_000)
    ports.targets.listed({1}, 1_000 + FORGOTTEN_MS - 1)
    assert sorted(ports.targets) == [1, 2]
    ports.targets.listed({1}, 1_000 + FORGOTTEN_MS)
    assert (sorted(ports.targets), list(ports.open)) == ([1], [100])


def test_returning_node_is_kept() -> None:
    ports = Ports()
    ports.targets.port(1, "a", 9092)
    ports.targets.port(2, "b", 9092)
    ports.targets.listed({1}, 1_000)
    ports.targets.port(2, "b", 9092)
    ports.targets.listed({1}, 2_000)
    ports.targets.listed({1}, 1_000 + FORGOTTEN_MS)
    assert sorted(ports.targets) == [1, 2]


def test_bootstrap_port_belongs_to_present_node() -> None:
    ports = Ports()
    ports.targets.port(4, "begin", 9092)
    assert (ports.bootstrap.node_id, ports.open[100]) == (4, ports.bootstrap)
    ports.targets.port(5, "b", 9092)
    ports.targets.listed({5}, 1_000)
    ports.targets.listed({5}, 1_000 + FORGOTTEN_MS)
    assert list(ports.open) == [100, 101], "clients still begin there"


def test_ports_can_be_single_or_ranges() -> None:
    assert chosen_ports(["2=19094", "4-6=20000"]) == {2: 19094, 4: 20000, 5: 20001, 6: 20002}


@pytest.mark.parametrize(
    "word", ["2", "2=", "a=1", "3-2=9092", "1=0", "1=65536", "0-1=65535", "0-1000=9092", "-1=9092"]
)
def test_invalid_port_mapping_is_explained(word: str) -> None:
    with pytest.raises(AddressError, match=f"^expected NODE=PORT, .* got {word}$"):
        chosen_ports([word])


@pytest.mark.parametrize("words", [("1=9092", "1=9093"), ("1=9092", "2=9092"), ("0-3=9092", "7=9095")])
def test_port_is_configured_once(words: tuple[str, ...]) -> None:
    with pytest.raises(AddressError, match=" repeats node "):
        chosen_ports(words)


def test_configured_node_skips_bootstrap_port() -> None:
    ports = Ports()
    targets = Targets(ports.bootstrap, ports._opened, ports._closed, {4: 19094})
    targets.port(4, "begin", 9092)
    assert ports.bootstrap not in ports.open.values()
    assert [item.node_id for item in ports.open.values()] == [4]
