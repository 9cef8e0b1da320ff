"""Traffic through the proxy without sockets: frames pass in any pieces, responses find their requests."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kohort.protocol.wire import INT, SHORT
from kohort.proxy.addressed_apis import entity
from kohort.proxy.relay import (
    BEFORE_LOGIN_BYTES,
    INSPECTED_BYTES,
    MAX_KEPT_BYTES,
    MAX_SLICE,
    MAX_UNANSWERED,
    Relay,
)
from kohort.proxy.relay_error import RelayError
from kohort.proxy.tap import Tap
from tests.proxy import samples
from tests.proxy.conversing import Elsewhere, answer, asks, hears, through, unknown
from tests.proxy.passing import Speaker
from tests.support.frames import frame, heartbeat


@pytest.fixture
def relay() -> Relay:
    return Relay(Elsewhere())


def token(raw: bytes) -> bytes:
    """Return a step of an old login."""
    return INT.pack(len(raw)) + raw


def test_requests_pass_as_they_are(relay: Relay) -> None:
    sent = heartbeat(1) + heartbeat(2)
    assert asks(relay, sent) == sent
    assert relay.waiting == 2
    assert hears(relay, answer(1, b"one"), answer(2, b"two")) == answer(1, b"one") + answer(2, b"two")
    assert relay.waiting == 0


def test_unknown_apis_and_versions_pass(relay: Relay) -> None:
    sent = unknown(1_234, 7, 1) + unknown(12, 99, 2)
    assert asks(relay, sent) == sent
    assert hears(relay, answer(1, b"\x00what"), answer(2)) == answer(1, b"\x00what") + answer(2)


@pytest.mark.parametrize("seed", range(20))
def test_pieces_make_no_difference(relay: Relay, seed: int) -> None:
    chance = Random(seed)
    sizes = [chance.choice((0, 3, 100, 5_000)) for _ in range(30)]
    sent = b"".join(unknown(chance.choice((12, 999)), 0, number, bytes(size)) for number, size in enumerate(sizes))
    told = b"".join(answer(number, bytes(size)) for number, size in enumerate(sizes))
    assert through(chance, sent, lambda data: asks(relay, data)) == sent
    assert relay.waiting == 30
    assert through(chance, told, lambda data: hears(relay, data)) == told


def test_acks_zero_produce_expects_no_response(relay: Relay) -> None:
    for version in (3, 8, 9, 13):
        asks(relay, frame("produce", version, 1, acks=0, timeout_ms=1, topic_data=()))
        asks(relay, frame("produce", version, 1, acks=0, timeout_ms=1, topic_data=(), transactional_id="an id"))
        assert relay.waiting == 0
    asks(relay, frame("produce", 9, 2, acks=-1, timeout_ms=1, topic_data=(), transactional_id="an id"))
    asks(relay, frame("produce", 3, 3, acks=1, timeout_ms=1, topic_data=()))
    assert relay.waiting == 2


def test_unsolicited_response_closes_connection(relay: Relay) -> None:
    with pytest.raises(RelayError, match="a response without a request"):
        hears(relay, answer(1))


def test_mismatched_response_closes_connection(relay: Relay) -> None:
    asks(relay, heartbeat(1))
    with pytest.raises(RelayError, match="does not belong to the oldest request"):
        hears(relay, answer(2))


def test_tls_or_http_client_is_logged(relay: Relay) -> None:
    with pytest.raises(RelayError, match="connect to the proxy without TLS"):
        asks(relay, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
    with pytest.raises(RelayError, match="an HTTP request"):
        asks(relay, b"GET / HTTP/1.1\r\n\r\n")


def test_oversized_length_passes_before_header(relay: Relay) -> None:
    before_login, after = INT.pack(BEFORE_LOGIN_BYTES + 1), INT.pack(INSPECTED_BYTES + 1)
    assert asks(Relay(Elsewhere()), before_login) == before_login
    assert asks(relay, frame("sasl_handshake", 1, 1, mechanism="PLAIN"), heartbeat(2))
    assert asks(relay, before_login) == b""
    assert asks(Relay(Elsewhere()), after) == after


def test_unrewritable_version_is_rejected(relay: Relay) -> None:
    with pytest.raises(RelayError, match="version 99 of API 3"):
        asks(relay, unknown(3, 99, 1))


def offered(*apis: tuple[int, int, int], version: int = 3, error: int = 0) -> bytes:
    """Return the body of a response to ApiVersions."""
    if version < 3:
        return SHORT.pack(error) + INT.pack(len(apis)) + b"".join(b"".join(map(SHORT.pack, api)) for api in apis)
    listed = b"".join(b"".join(map(SHORT.pack, api)) + b"\x00" for api in apis)
    return SHORT.pack(error) + bytes((len(apis) + 1,)) + listed + INT.pack(0) + b"\x00"


@pytest.mark.parametrize("version", [0, 3, 4])
def test_unrewritable_versions_are_not_offered(relay: Relay, version: int) -> None:
    asks(relay, frame("api_versions", version, 1))
    of_version = 0 if version == 0 else 3
    told = answer(1, offered((3, 0, 99), (12, 0, 99), (78, 0, 0), (500, 1, 2), version=of_version))
    assert hears(relay, told) == answer(1, offered((3, 0, 13), (12, 0, 99), (500, 1, 2), version=of_version))


def test_unsupported_version_gets_oldest_response(relay: Relay) -> None:
    asks(relay, frame("api_versions", 4, 1))
    told = answer(1, offered((18, 0, 3), version=0, error=35))
    assert hears(relay, told) == told


def handshake(relay: Relay, mechanism: str, version: int, error: int = 0) -> None:
    """Pass a SaslHandshake and its response."""
    asks(relay, frame("sasl_handshake", version, 1, mechanism=mechanism))
    told = answer(1, SHORT.pack(error) + INT.pack(0))
    assert hears(relay, told) == told


@pytest.mark.parametrize(("mechanism", "steps"), [("PLAIN", 1), ("SCRAM-SHA-256", 2)])
def test_legacy_tokens_precede_requests(relay: Relay, mechanism: str, steps: int) -> None:
    handshake(relay, mechanism, 0)
    for _ in range(steps):
        said = token(b"\x00\x0calice\x00secret")  # begins like a Heartbeat
        assert asks(relay, said) == said
        assert hears(relay, token(b"")) == token(b"")
    asks(relay, heartbeat(9))
    assert hears(relay, answer(9)) == answer(9)


def test_kerberos_tokens_are_not_requests(relay: Relay) -> None:
    handshake(relay, "GSSAPI", 0)
    for said in (token(b"\x60\x82\x01"), token(b""), token(b"\x05\x04\x04\xff")):
        assert asks(relay, said) == said
        assert hears(relay, token(b"\x60")) == token(b"\x60")
    asks(relay, heartbeat(9))
    assert hears(relay, answer(9)) == answer(9)


def test_rejected_handshake_ends_tokens(relay: Relay) -> None:
    handshake(relay, "NONE", 0, error=33)
    asks(relay, heartbeat(2))
    assert hears(relay, answer(2)) == answer(2)


def test_newer_logins_are_requests_like_others(relay: Relay) -> None:
    handshake(relay, "PLAIN", 1)
    said = frame("sasl_authenticate", 2, 2, auth_bytes=b"\x00alice\x00secret")
    assert asks(relay, said) == said
    assert hears(relay, answer(2)) == answer(2)


def test_interleaved_node_response_is_rewritten(relay: Relay) -> None:
    asks(relay, heartbeat(1), frame("find_coordinator", 0, 2, coordinator_keys=("g",)), heartbeat(3))
    told = samples.frame(replace(samples.sample(entity("find_coordinator", 0)), host="kafka-1.example.org"), 2)
    heard = hears(relay, answer(1), told, answer(3))
    assert (heard[:8], heard[-8:]) == (answer(1), answer(3))
    assert samples.read(heard[8:-8], "find_coordinator", 0).host == "proxy"


def test_oversized_request_is_forwarded_immediately(relay: Relay) -> None:
    whole = unknown(12, 4, 1, bytes(2_000_000))
    said = INT.pack(200 << 20)
    assert asks(relay, said) == said
    assert asks(relay, whole[4:9]) == whole[4:9]
    assert asks(relay, whole[9:1_000]) == whole[9:1_000]
    assert relay.waiting == 1


def test_requests_pass_in_slices(relay: Relay) -> None:
    first = relay.requests(heartbeat(1) * (2 * MAX_SLICE + 1))
    assert b"".join(first) == heartbeat(1) * MAX_SLICE
    assert relay.has_more_requests
    assert b"".join(relay.requests(b"")) == heartbeat(1) * MAX_SLICE
    assert b"".join(relay.requests(b"")) == heartbeat(1)
    assert not relay.has_more_requests


def test_responses_pass_in_slices(relay: Relay) -> None:
    asks(relay, heartbeat(1) * (MAX_SLICE + 1))
    assert b"".join(relay.answers(answer(1) * (MAX_SLICE + 1))) == answer(1) * MAX_SLICE
    assert relay.has_more_answers
    assert b"".join(relay.answers(b"")) == answer(1)
    assert not relay.has_more_answers


def test_rewritten_responses_pass_one_by_one(relay: Relay) -> None:
    asks(relay, frame("find_coordinator", 0, 1, coordinator_keys=("g",)) * 2)
    response = samples.frame(samples.sample(entity("find_coordinator", 0)), 1)
    assert b"".join(relay.answers(response * 2))
    assert relay.has_more_answers


def test_unanswered_requests_are_bounded(relay: Relay) -> None:
    assert asks(relay, heartbeat(1) * (MAX_UNANSWERED + 100)) == heartbeat(1) * MAX_UNANSWERED
    assert relay.blocked
    assert relay.held_bytes == 100 * len(heartbeat(1))
    assert asks(relay, heartbeat(1)) == b"", "nothing more passes"
    hears(relay, answer(1) * (MAX_UNANSWERED // 2 - 1))
    assert relay.blocked
    hears(relay, answer(1))
    assert asks(relay) == heartbeat(1) * 101


def test_body_passes_after_last_request(relay: Relay) -> None:
    asks(relay, heartbeat(1) * (MAX_UNANSWERED - 1))
    large = unknown(12, 0, 2, bytes(1_000))
    assert asks(relay, large[:500]) == large[:500]
    assert not relay.blocked
    assert asks(relay, large[500:] + heartbeat(3)) == large[500:]
    assert relay.blocked


def test_kept_requests_are_bounded_by_bytes() -> None:
    tap = Tap(lambda: 0)
    ignoring = dict.fromkeys(("asked", "answered", "hung_up"), lambda _: None)
    tap.listen(cast(Any, SimpleNamespace(keys=frozenset({12}), **ignoring)))
    relay = Relay(Elsewhere(), line=tap.line(Speaker()))
    large = unknown(12, 0, 1, bytes(MAX_KEPT_BYTES // 4))
    assert len(asks(relay, large * 8)) == 4 * len(large)
    assert relay.blocked
    hears(relay, answer(1) * 3)
    assert len(asks(relay)) == 3 * len(large)


def test_kept_bytes_are_due(relay: Relay) -> None:
    relay.keep_requests(heartbeat(1))
    assert relay.has_more_requests
    assert asks(relay) == heartbeat(1)
    relay.keep_answers(answer(1))
    assert relay.has_more_answers
    assert hears(relay) == answer(1)
    assert not relay.has_more_answers


def test_closed_connection_keeps_nothing(relay: Relay) -> None:
    asks(relay, heartbeat(1) * (MAX_UNANSWERED + 100))
    relay.close()
    assert (relay.waiting, relay.held_bytes) == (0, 0)
