"""ACLs without a client: a test gives rights and takes them away, at any moment."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import TypedDict, Unpack

from kohort.broker.cluster.access import Access
from kohort.broker.cluster.broker_cluster import BrokerCluster
from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.control.control_errors import ControlError
from kohort.control.resources import operation_named, resource_named
from kohort.protocol.visible import visible
from kohort.security.acls import WILDCARD, AclBinding, AclFilter, Operation, PatternType, Permission, ResourceType
from kohort.security.principal import PrincipalError, parse_principal


class AclOptions(TypedDict, total=False):
    """What an ACL is about: one resource, from one host or from all."""

    topic: str
    group: str
    transactional_id: str
    cluster: bool
    host: str
    prefixed: bool
    """Whether it is about all whose name begins so."""


class Acl:
    """One ACL. It counts until it is removed, or the `with` block that it opened ends."""

    def __init__(self, access: Access, binding: AclBinding) -> None:
        self._access = access
        self._binding = binding

    @property
    def binding(self) -> AclBinding:
        """What it says."""
        return self._binding

    def remove(self) -> None:
        """From now on it does not count; nothing happens if it is gone already. It counts for the next request."""
        if self._binding in self._access.authorizer.acls:
            self._access.remove([self._binding])

    def __enter__(self) -> Acl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()

    def __str__(self) -> str:
        return visible(str(self._binding))

    def __repr__(self) -> str:
        return f"<ACL {self}>"


class Acls:
    """The ACLs of a cluster with an authorizer."""

    def __init__(self, cluster: BrokerCluster) -> None:
        self._cluster = cluster
        self._made: list[Acl] = []

    def allow(self, principal: str, operation: str = "All", **options: Unpack[AclOptions]) -> Acl:
        """`allow("User:alice", "Read", topic="orders")`; `User:*` is everybody, `topic="*"` every topic.

        Raises ControlError for what is no principal, operation or resource, and if the cluster has no authorizer.
        """
        return self._add(Permission.ALLOW, principal, operation, options)

    def deny(self, principal: str, operation: str = "All", **options: Unpack[AclOptions]) -> Acl:
        """A DENY: it counts whatever is allowed. Else as `allow`."""
        return self._add(Permission.DENY, principal, operation, options)

    def remove(
        self,
        principal: str | None = None,
        operation: str | None = None,
        permission: Permission = Permission.ANY,
        **options: Unpack[AclOptions],
    ) -> list[AclBinding]:
        """Removes all that are so, and returns them; what is not named may be anything. Raises ControlError."""
        kind, name = _resource(options) or (ResourceType.ANY, None)
        pattern = PatternType.ANY
        if "prefixed" in options:
            pattern = PatternType.PREFIXED if options["prefixed"] else PatternType.LITERAL
        about = Operation.ANY if operation is None else operation_named(operation)
        wanted = AclFilter(kind, pattern, name, principal, options.get("host"), about, permission)
        access = self._access()
        found = [each for each in access.authorizer.acls if wanted.matches(each)]
        access.remove(found)
        return found

    def lift(self) -> None:
        """Removes those that were made here; what clients have made stays."""
        made, self._made = self._made, []
        for acl in made:
            acl.remove()

    def clear(self) -> None:
        """Removes all of them, those that clients have made too."""
        access = self._access()
        access.remove(list(access.authorizer.acls))

    def __iter__(self) -> Iterator[Acl]:
        access = self._access()
        return iter([Acl(access, each) for each in access.authorizer.acls])

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
            raise ControlError(f"a principal is a type and a name, as User:alice, not {principal!r}") from None
        kind, name = resource
        pattern = PatternType.PREFIXED if options.get("prefixed") else PatternType.LITERAL
        host = options.get("host", WILDCARD)
        binding = AclBinding(kind, pattern, name, principal, host, operation_named(operation), permission)
        access = self._access()
        access.add([binding])
        made = Acl(access, binding)
        self._made.append(made)
        return made

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
