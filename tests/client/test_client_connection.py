"""Requests and responses of a client connection, without a socket."""

from __future__ import annotations

import struct

import pytest

from kohort.client.client_connection import BrokerError, ClientConnection, Conversation, SpeaksHttpError
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages import message_of
from kohort.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kohort.protocol.messages.metadata import MetadataRequest, MetadataResponse


def answered(name: str, version: int, correlation_id: int, response: object) -> bytes:
    """Return a frame from the broker, without its length prefix."""
    frame = message_of(name).write(version, correlation_id, response)
    return (frame if isinstance(frame, bytes) else b"".join(frame))[4:]


def opened(newest: dict[str, int], *theirs: tuple[int, int, int]) -> ClientConnection:
    """Return a connection to a broker that supports APIs (key, lowest version, highest version)."""
    connection = ClientConnection("ada", newest)
    keys = tuple(ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in theirs)
    conversation = connection.open()
    next(conversation)
    with pytest.raises(StopIteration):
        conversation.send(answered("api_versions", 0, 1, ApiVersionsResponse(error_code=ErrorCode.none, api_keys=keys)))
    return connection


def metadata(connection: ClientConnection) -> Conversation[MetadataResponse]:
    return connection.ask("metadata", MetadataRequest(topics=(), allow_auto_topic_creation=False))


def test_newest_common_version_is_used() -> None:
    connection = opened({"metadata": 12}, (3, 0, 9))
    assert connection.version("metadata") == 9
    conversation = metadata(connection)
    sent = next(conversation)
    assert struct.unpack_from(">ihhi", sent) == (len(sent) - 4, 3, 9, 2)
    nothing = MetadataResponse(brokers=(), cluster_id="c", controller_id=-1, topics=())
    with pytest.raises(StopIteration) as over:
        conversation.send(answered("metadata", 9, 2, nothing))
    assert over.value.value.cluster_id == "c"


def test_no_common_version_is_named() -> None:
    with pytest.raises(BrokerError, match="it speaks metadata 13-14, this client 0-12"):
        opened({"metadata": 12}, (3, 13, 14)).version("metadata")


def test_version_older_than_codecs_is_unsupported() -> None:
    connection = opened({"describe_acls": 3}, (29, 0, 0))  # as of Kafka 1.1
    assert not connection.speaks("describe_acls")
    with pytest.raises(BrokerError, match="it speaks describe_acls 0-0, this client 1-3"):
        connection.version("describe_acls")


def test_answer_to_other_request_is_rejected() -> None:
    connection = opened({"metadata": 12}, (3, 0, 12))
    conversation = metadata(connection)
    next(conversation)
    nothing = MetadataResponse(brokers=(), cluster_id="c", controller_id=-1, topics=())
    with pytest.raises(BrokerError, match="another question than metadata"):
        conversation.send(answered("metadata", 12, 7, nothing))


@pytest.mark.parametrize(
    ("head", "problem", "words"),
    [
        (b"HTTP", SpeaksHttpError, "speaks HTTP"),
        (b"\x15\x03\x03\x00", BrokerError, "this port requires TLS"),
        (b"\0\0\0\x03", BrokerError, "a frame of 3 bytes"),
        (b"\x7f\0\0\0", BrokerError, "doesn't answer like a Kafka broker"),
    ],
)
def test_rejects_foreign_first_bytes(head: bytes, problem: type[BrokerError], words: str) -> None:
    with pytest.raises(problem, match=words):
        ClientConnection("ada", {}).frame_size(head)


def test_malformed_answer_is_broker_error() -> None:
    conversation = ClientConnection("ada", {}).open()
    next(conversation)
    with pytest.raises(BrokerError, match="cannot be read"):
        conversation.send(b"\0\0\0\x01\0\0")
