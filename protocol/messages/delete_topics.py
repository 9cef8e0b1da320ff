"""DeleteTopics (key 20): by name or, from v6 on, by id."""

from uuid import UUID

from kohort.protocol.codec import Message, Older
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class DeleteTopicState:
    name: str | None = None
    topic_id: UUID | None = None


@shape
class DeleteTopicsRequest:
    topics: tuple[DeleteTopicState, ...]
    timeout_ms: int


@shape
class DeletableTopicResult:
    name: str | None
    topic_id: UUID | None = None  # from v6 on
    error_code: ErrorCode
    error_message: str | None = None  # from v5 on


@shape
class DeleteTopicsResponse:
    throttle_time_ms: int = 0
    responses: tuple[DeletableTopicResult, ...]


@shape
class _RequestByName:
    topic_names: tuple[str, ...]
    timeout_ms: int


def _request_to_newest(old: _RequestByName) -> DeleteTopicsRequest:
    topics = tuple(DeleteTopicState(name=name) for name in old.topic_names)
    return DeleteTopicsRequest(topics=topics, timeout_ms=old.timeout_ms)


def _request_from_newest(new: DeleteTopicsRequest) -> _RequestByName:
    names = tuple(topic.name or "" for topic in new.topics)
    return _RequestByName(topic_names=names, timeout_ms=new.timeout_ms)


MESSAGE = Message(
    "delete_topics",
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    older_request=Older(5, _RequestByName, _request_to_newest, _request_from_newest),
)
