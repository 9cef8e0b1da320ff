"""AlterClientQuotas (key 49): how much users, client ids and addresses may send and ask for (KIP-546)."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class EntityData:
    entity_type: str
    entity_name: str | None
    """None: the default of its type."""


@dataclass(slots=True, kw_only=True)
class OpData:
    key: str
    value: float
    remove: bool


@dataclass(slots=True, kw_only=True)
class EntryRequest:
    entity: tuple[EntityData, ...]
    ops: tuple[OpData, ...]


@dataclass(slots=True, kw_only=True)
class AlterClientQuotasRequest:
    entries: tuple[EntryRequest, ...]
    validate_only: bool


@dataclass(slots=True, kw_only=True)
class EntryResponse:
    error_code: ErrorCode
    error_message: str | None = None
    entity: tuple[EntityData, ...]


@dataclass(slots=True, kw_only=True)
class AlterClientQuotasResponse:
    throttle_time_ms: int = 0
    entries: tuple[EntryResponse, ...]


MESSAGE = Message("alter_client_quotas", AlterClientQuotasRequest, AlterClientQuotasResponse)
