"""AlterClientQuotas (key 49): sets quotas of users, client ids and IP addresses (KIP-546)."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class EntityData:
    entity_type: str
    entity_name: str | None  # None: the default of its type


@shape
class OpData:
    key: str
    value: float
    remove: bool


@shape
class EntryRequest:
    entity: tuple[EntityData, ...]
    ops: tuple[OpData, ...]


@shape
class AlterClientQuotasRequest:
    entries: tuple[EntryRequest, ...]
    validate_only: bool


@shape
class EntryResponse:
    error_code: ErrorCode
    error_message: str | None = None
    entity: tuple[EntityData, ...]


@shape
class AlterClientQuotasResponse:
    throttle_time_ms: int = 0
    entries: tuple[EntryResponse, ...]


MESSAGE = Message("alter_client_quotas", AlterClientQuotasRequest, AlterClientQuotasResponse)
