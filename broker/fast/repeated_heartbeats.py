"""Repeated heartbeats, whose responses are encoded once."""

from functools import lru_cache

from kohort.broker.apis.heartbeat import ANSWERS, validate_heartbeat
from kohort.broker.cluster.node import Node
from kohort.broker.fast.cached_request import CachedRequest
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.heartbeat import MESSAGE


def encode_repeated(node: Node, cached: CachedRequest, now_ms: int) -> bytes | None:
    return _frames(cached.version)[validate_heartbeat(node, cached.request, now_ms)]


@lru_cache
def _frames(version: int) -> dict[ErrorCode, bytes]:
    frames = {}
    for error_code, response in ANSWERS.items():
        frame = MESSAGE.write(version, 0, response)
        assert isinstance(frame, bytes), "it is short"
        frames[error_code] = frame
    return frames
