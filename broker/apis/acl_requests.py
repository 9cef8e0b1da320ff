"""Shared parts of DescribeAcls, CreateAcls and DeleteAcls: limits, filters and the message for a missing permission."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kohort.security.acls import AclFilter, Operation, PatternType, Permission, ResourceType, known_or_unknown

if TYPE_CHECKING:
    from kohort.broker.ticket import Ticket
    from kohort.security.rights import Right

MAX_RECORDS_PER_USER_OP = 10_000  # ACLs that one request may create or delete, as in Kafka's controller


class Filter(Protocol):
    """A filter in a request."""

    @property
    def resource_type_filter(self) -> int: ...
    @property
    def resource_name_filter(self) -> str | None: ...
    @property
    def pattern_type_filter(self) -> int: ...
    @property
    def principal_filter(self) -> str | None: ...
    @property
    def host_filter(self) -> str | None: ...
    @property
    def operation(self) -> int: ...
    @property
    def permission_type(self) -> int: ...


def read_filter(acl_filter: Filter) -> AclFilter:
    return AclFilter(
        known_or_unknown(ResourceType, acl_filter.resource_type_filter),
        known_or_unknown(PatternType, acl_filter.pattern_type_filter),
        acl_filter.resource_name_filter,
        acl_filter.principal_filter,
        acl_filter.host_filter,
        known_or_unknown(Operation, acl_filter.operation),
        known_or_unknown(Permission, acl_filter.permission_type),
    )


def needs_permission(ticket: Ticket, right: Right) -> str:
    """Return Kafka's message for a client without a right on the cluster."""
    return f"Request {ticket.api.spec.name} of {ticket.principal} needs {right.operation.name} permission."
