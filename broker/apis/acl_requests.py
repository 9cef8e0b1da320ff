"""What DescribeAcls, CreateAcls and DeleteAcls have in common: codes, filters, and what is said without the right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kohort.security.acls import AclFilter, Operation, PatternType, Permission, ResourceType, known

if TYPE_CHECKING:
    from kohort.broker.ticket import Ticket
    from kohort.security.rights import Right

MAX_RECORDS_PER_USER_OP = 10_000
"""ACLs that one request may make or delete, under the name that Kafka's controller has for it."""


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


def read_filter(asked: Filter) -> AclFilter:
    """A request's filter."""
    return AclFilter(
        known(ResourceType, asked.resource_type_filter),
        known(PatternType, asked.pattern_type_filter),
        asked.resource_name_filter,
        asked.principal_filter,
        asked.host_filter,
        known(Operation, asked.operation),
        known(Permission, asked.permission_type),
    )


def needs_permission(ticket: Ticket, right: Right) -> str:
    """What is said to who lacks a right on the cluster. Kafka says the same of the request as Java prints it."""
    return f"Request {ticket.api.spec.name} of {ticket.principal} needs {right.operation.name} permission."
