"""Queue of pending requests, and the frames of their responses."""

from __future__ import annotations

from struct import pack

import pytest

from kohort.proxy.talk.request_queue import MAX_RESPONSE_BYTES, RequestQueue, UnexpectedResponse


def response(correlation_id: int, body: bytes = b"") -> bytes:
    return pack(">ii", 4 + len(body), correlation_id) + body


def test_frames_complete_byte_by_byte() -> None:
    pending: RequestQueue[str] = RequestQueue()
    data = response(1, b"one") + response(2)
    frames = [frame for byte in data for frame in pending.split(bytes([byte]))]
    assert frames == [response(1, b"one")[4:], response(2)[4:]]


def test_responses_belong_to_oldest_request() -> None:
    pending: RequestQueue[str] = RequestQueue()
    for request in ("join", "sync"):
        pending.add(pending.next_correlation_id(), request)
    assert pending.oldest == "join"
    assert [pending.take(frame) for frame in pending.split(response(1) + response(2))] == ["join", "sync"]
    assert not pending
    assert pending.oldest is None


def test_other_correlation_id_is_rejected() -> None:
    pending: RequestQueue[str] = RequestQueue()
    pending.add(pending.next_correlation_id(), "join")
    with pytest.raises(UnexpectedResponse, match="has correlation id 2 instead of 1"):
        pending.take(response(2)[4:])
    assert pending.oldest == "join", "its failure can be reported"


def test_response_without_request_is_rejected() -> None:
    pending: RequestQueue[str] = RequestQueue()
    with pytest.raises(UnexpectedResponse, match="without a request"):
        pending.take(response(1)[4:])


@pytest.mark.parametrize("size", [-1, 3, MAX_RESPONSE_BYTES + 1])
def test_invalid_size_is_rejected(size: int) -> None:
    pending: RequestQueue[str] = RequestQueue()
    with pytest.raises(UnexpectedResponse, match=f"invalid size of {size} bytes"):
        list(pending.split(pack(">i", size)))
