"""Bytes of a client are read within limits, and the only error is DecodeError."""

import pytest

from tests.fuzz.reading import Case, fails, fuzz
from tests.protocol.messages import VERSIONS, load
from tests.support.effort import EFFORT
from tests.support.seeds import seeds


@pytest.mark.parametrize(
    ("name", "version", "body"),
    [
        ("produce", 9, "8000 0001 00000001 ffffffff0f"),  # an overlong null, then a count that the guard did not see
        ("produce", 9, "80808000 0001 00000001 ffffffff0f"),
        ("join_group", 7, "0267 00000001 00000001 0261 8000 0263 ffffffff07"),
        ("sync_group", 5, "0267 00000001 0261 8000 8000 8000 ffffffff0f"),
        ("fetch", 13, "00000000 00000000 00000000 00 00000000 00000000 ffffffff0f"),
        ("offset_commit", 9, "0267 00000001 0261 8000 02 0274 ffffffff0f"),
        ("metadata", 10, "ffffffff0f"),
        ("describe_configs", 4, "02 02 0274 ffffffff0f"),
        ("create_partitions", 3, "02 0274 00000001 02 ffffffff0f"),
    ],
)
def test_nobody_can_ask_for_memory(name: str, version: int, body: str) -> None:
    assert fails(Case(name, version, bytes.fromhex(body))) is None


@pytest.mark.parametrize("seed", seeds(2))
def test_made_up_and_damaged_requests(seed: int) -> None:
    error = fuzz(seed, EFFORT.frames)
    assert error is None, f"KOHORT_SEED={seed}: {error}"


def test_every_api_is_among_them() -> None:
    assert {name for name, _ in VERSIONS} >= {"produce", "fetch", "write_txn_markers", "describe_topic_partitions"}
    assert all(load(name).api.name == name for name, _ in VERSIONS)
