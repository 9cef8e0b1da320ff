"""FindCoordinator (key 10): the broker that coordinates a group or a transactional id."""

from kohort.protocol.codec import Message, Older
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class FindCoordinatorRequest:
    key_type: int = 0  # from v1 on
    coordinator_keys: tuple[str, ...]  # one, up to v3


@shape
class Coordinator:
    key: str
    node_id: int
    host: str
    port: int
    error_code: ErrorCode
    error_message: str | None


@shape
class FindCoordinatorResponse:
    throttle_time_ms: int = 0  # from v1 on
    coordinators: tuple[Coordinator, ...]  # up to v3 the first one counts, and its key is not sent


@shape
class _RequestForOne:
    key: str
    key_type: int = 0


@shape
class _ResponseForOne:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    node_id: int
    host: str
    port: int


def _request_to_newest(old: _RequestForOne) -> FindCoordinatorRequest:
    return FindCoordinatorRequest(key_type=old.key_type, coordinator_keys=(old.key,))


def _request_from_newest(new: FindCoordinatorRequest) -> _RequestForOne:
    return _RequestForOne(key_type=new.key_type, key=new.coordinator_keys[0])


def _response_to_newest(old: _ResponseForOne) -> FindCoordinatorResponse:
    coordinator = Coordinator(
        key="",
        node_id=old.node_id,
        host=old.host,
        port=old.port,
        error_code=old.error_code,
        error_message=old.error_message,
    )
    return FindCoordinatorResponse(throttle_time_ms=old.throttle_time_ms, coordinators=(coordinator,))


def _response_from_newest(new: FindCoordinatorResponse) -> _ResponseForOne:
    coordinator = new.coordinators[0]
    return _ResponseForOne(
        throttle_time_ms=new.throttle_time_ms,
        error_code=coordinator.error_code,
        error_message=coordinator.error_message,
        node_id=coordinator.node_id,
        host=coordinator.host,
        port=coordinator.port,
    )


MESSAGE = Message(
    "find_coordinator",
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    older_request=Older(3, _RequestForOne, _request_to_newest, _request_from_newest),
    older_response=Older(3, _ResponseForOne, _response_to_newest, _response_from_newest),
)
