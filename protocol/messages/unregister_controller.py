"""UnregisterController (key 94): removal of a controller that has left for good."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class UnregisterControllerRequest:
    controller_id: int


@shape
class UnregisterControllerResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None


MESSAGE = Message("unregister_controller", UnregisterControllerRequest, UnregisterControllerResponse)
