"""DescribeClientQuotas (key 48): the quotas that are set."""

from kohort.protocol.codec import Message
from kohort.protocol.errors import ErrorCode
from kohort.protocol.shape import shape


@shape
class ComponentData:
    entity_type: str
    match_type: int
    match: str | None


@shape
class DescribeClientQuotasRequest:
    components: tuple[ComponentData, ...]
    strict: bool


@shape
class QuotaEntity:
    entity_type: str
    entity_name: str | None


@shape
class QuotaValue:
    key: str
    value: float


@shape
class QuotaEntry:
    entity: tuple[QuotaEntity, ...]
    values: tuple[QuotaValue, ...]


@shape
class DescribeClientQuotasResponse:
    throttle_time_ms: int = 0
    error_code: ErrorCode
    error_message: str | None = None
    entries: tuple[QuotaEntry, ...] | None = None


MESSAGE = Message("describe_client_quotas", DescribeClientQuotasRequest, DescribeClientQuotasResponse)
