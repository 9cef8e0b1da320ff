"""DescribeClientQuotas (key 48): which quotas are set."""

from dataclasses import dataclass

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode


@dataclass(slots=True, kw_only=True)
class ComponentData:
    entity_type: str
    match_type: int
    match: str | None


@dataclass(slots=True, kw_only=True)
class DescribeClientQuotasRequest:
    components: tuple[ComponentData, ...]
    strict: bool


@dataclass(slots=True, kw_only=True)
class QuotaEntity:
    entity_type: str
    entity_name: str | None


@dataclass(slots=True, kw_only=True)
class QuotaValue:
    key: str
    value: float


@dataclass(slots=True, kw_only=True)
class QuotaEntry:
    entity: tuple[QuotaEntity, ...]
    values: tuple[QuotaValue, ...]


@dataclass(slots=True, kw_only=True)
class DescribeClientQuotasResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    entries: tuple[QuotaEntry, ...] | None = None


MESSAGE = Message("describe_client_quotas", DescribeClientQuotasRequest, DescribeClientQuotasResponse)
