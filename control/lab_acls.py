"""ACLs without a Kafka client: tests grant and revoke rights at any moment."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TypedDict, Unpack

from kohort.base.visible import visible
from kohort.broker.cluster.access import Access
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.control.control_errors import ControlError
from kohort.control.resources import operation_named, resource_named
from kohort.control.suggesting import suggest_names
from kohort.security.acls import WILDCARD, AclBinding, AclFilter, Operation, PatternType, Permission, ResourceType
from kohort.security.principal import PrincipalError, parse_principal


class AclOptions(TypedDict, total=False):
    """The subject of an ACL: one resource, from one host or from any host."""

    topic: str
    group: str
    transactional_id: str
    cluster: bool
    host: str
    prefixed: bool  # whether the name is a prefix


class Acl:
    """One ACL. It is effective until it is removed, or until the `with` block that it opened ends."""

    def __init__(self, access: Access, binding: AclBinding) -> None:
        self._access = access
        self._binding = binding

    @property
    def binding(self) -> AclBinding:
        return self._binding

    def remove(self) -> None:
        """Remove the ACL, if it still exists, with effect from the next request on."""
        if self._binding in self._access.authorizer.acls:
            self._access.remove([self._binding])

    def __enter__(self) -> Acl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __str__(self) -> str:
        return visible(str(self._binding))

    def __repr__(self) -> str:
        return f"<ACL {self}>"


@suggest_names
class Acls:
    """The ACLs of a cluster with an authorizer."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self._cluster = cluster
        self._added: list[Acl] = []

    def allow(self, principal: str, operation: str = "All", **options: Unpack[AclOptions]) -> Acl:
        """Allow a principal an operation: `allow("User:alice", "Read", topic="orders")`.

        `User:*` is any principal, and `topic="*"` any topic.

        Raises:
            ControlError: The principal, operation or resource is invalid, or the cluster has no authorizer.
        """
        return self._add(Permission.ALLOW, principal, operation, options)

    def deny(self, principal: str, operation: str = "All", **options: Unpack[AclOptions]) -> Acl:
        """Deny a principal an operation, whatever is allowed. Takes the same arguments as `allow`."""
        return self._add(Permission.DENY, principal, operation, options)

    def remove(
        self,
        principal: str | None = None,
        operation: str | None = None,
        permission: Permission = Permission.ANY,
        **options: Unpack[AclOptions],
    ) -> list[AclBinding]:
        """Remove all matching ACLs and return them; an argument that is left out matches anything.

        Raises:
            ControlError: The operation or resource is invalid, or the cluster has no authorizer.
        """
        kind, name = _resource(options) or (ResourceType.ANY, None)
        pattern = PatternType.ANY
        if "prefixed" in options:
            pattern = PatternType.PREFIXED if options["prefixed"] else PatternType.LITERAL
        about = Operation.ANY if operation is None else operation_named(operation)
        acl_filter = AclFilter(kind, pattern, name, principal, options.get("host"), about, permission)
        access = self._access()
        bindings = [acl for acl in access.authorizer.acls if acl_filter.matches(acl)]
        access.remove(bindings)
        return bindings

    def lift(self) -> None:
        """Remove the ACLs that were added through this object; those of clients remain."""
        added, self._added = self._added, []
        for acl in added:
            acl.remove()

    def clear(self) -> None:
        """Remove all ACLs, including those of clients."""
        access = self._access()
        access.remove(list(access.authorizer.acls))

    def __iter__(self) -> Iterator[Acl]:
        access = self._access()
        return iter([Acl(access, binding) for binding in access.authorizer.acls])

    def __len__(self) -> int:
        return len(self._access().authorizer.acls)

    def __repr__(self) -> str:
        access = self._cluster.access
        return visible(f"<ACLs: {'; '.join(map(str, [] if access is None else access.authorizer.acls)) or 'none'}>")

    def _add(self, permission: Permission, principal: str, operation: str, options: AclOptions) -> Acl:
        resource = _resource(options)
        if resource is None or not resource[1]:
            raise ControlError("name a resource: a topic, a group, a transactional id or the cluster")
        try:
            parse_principal(principal)
        except PrincipalError:
            raise ControlError(
                f"a principal must have a type and a name, as in User:alice; got {principal!r}"
            ) from None
        kind, name = resource
        pattern = PatternType.PREFIXED if options.get("prefixed") else PatternType.LITERAL
        host = options.get("host", WILDCARD)
        binding = AclBinding(kind, pattern, name, principal, host, operation_named(operation), permission)
        access = self._access()
        access.add([binding])
        acl = Acl(access, binding)
        self._added.append(acl)
        return acl

    def _access(self) -> Access:
        access = self._cluster.access
        if access is None or not access.keeps_acls:
            raise ControlError(
                f"the cluster has no authorizer; start it with the setting authorizer.class.name={STANDARD_AUTHORIZER}"
            )
        return access


def _resource(options: AclOptions) -> tuple[ResourceType, str] | None:
    return resource_named(
        options.get("topic"),
        options.get("group"),
        options.get("transactional_id"),
        cluster=options.get("cluster", False),
    )
