"""Authorization: the cluster's ACLs, their storage, and the log lines of denied requests.

`Access` exists only if `authorizer.class.name` is set. Without it everything is allowed without a check.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kohort.base.logs import log
from kohort.broker.cluster.group_events import client_of
from kohort.broker.settings.setting import split_principals
from kohort.security.acls import CLUSTER_NAME, WILDCARD, AclBinding, Operation, PatternType, Permission, ResourceType
from kohort.security.authorizer import LONGEST_REMEMBERED, Authorizer
from kohort.security.principal import Principal
from kohort.security.rights import REPORTED_RIGHTS, Right
from kohort.storage.disk.ownership import DataDirectoryError

if TYPE_CHECKING:
    from kohort.broker.cluster.group_events import GroupEvents
    from kohort.broker.cluster.offsets_topic import OffsetsTopic
    from kohort.broker.cluster.shared_state import SharedState
    from kohort.broker.ticket import Ticket
    from kohort.storage.disk.directory import DataDirectory
    from kohort.storage.disk.journal_lines import SavedAcl

LOGGED_EVERY_MS = 10_000  # minimum interval of log lines about a repeated denial, such as that of each heartbeat

MOST_REMEMBERED = 1_000  # maximum number of different denials remembered; the oldest is dropped first


@dataclass(slots=True)
class Denial:
    """A denied right, possibly of repeated requests. Holds no request."""

    principal: Principal
    host: str
    client_id: str
    api: str  # name in `api_keys.py`
    group_id: str | None  # group of the request; None for no group, or several
    right: Right
    name: str
    by_laboratory: bool  # whether a rule of the laboratory denied it
    times: int
    at_ms: int  # monotonic time of the last denial
    logged_ms: int


class Access:
    """Authorizes requests, and changes ACLs."""

    def __init__(
        self,
        state: SharedState,
        offsets_topic: OffsetsTopic,
        group_events: GroupEvents,
        acls: Iterable[AclBinding] = (),
    ) -> None:
        settings = state.settings
        self.keeps_acls = bool(settings.authorizer_class_name)  # False if only the laboratory denies requests
        self.authorizer = Authorizer(
            acls,
            super_users=split_principals(settings.super_users),
            allow_everyone=settings.allow_everyone_if_no_acl_found or not self.keeps_acls,
        )
        self._state = state
        self._offsets_topic = offsets_topic
        self._group_events = group_events
        self._denials: dict[tuple[object, ...], Denial] = {}

    def allows(self, ticket: Ticket, right: Right, name: str) -> bool:
        """Return whether the sender of a request has the right to the named resource. A denial is logged."""
        if self.shows(ticket, right, name):
            return True
        self._refused(ticket, right, name)
        return False

    def allows_on_cluster(self, ticket: Ticket, right: Right) -> bool:
        return self.allows(ticket, right, CLUSTER_NAME)

    def shows(self, ticket: Ticket, right: Right, name: str) -> bool:
        """Check a right like `allows`, but without a log line, to filter what a client may see."""
        requester = ticket.requester
        return self.authorizer.allows(
            requester.principal, requester.client_host[1:], right, name
        ) and not self._state.hooks.denies(ticket, right, name)

    def allows_on_any(self, ticket: Ticket, right: Right) -> bool:
        """Return whether the right may be allowed on any resource (acls §4)."""
        allowed = self.authorizer.allows_on_any(ticket.principal, ticket.host, right)
        return allowed and not self._state.hooks.denies(ticket, right, WILDCARD)

    def operations(self, ticket: Ticket, resource_type: ResourceType, name: str) -> int:
        return sum(1 << right.operation for right in REPORTED_RIGHTS[resource_type] if self.shows(ticket, right, name))

    @property
    def denials(self) -> list[Denial]:
        """Denied rights, without those that ACLs allow by now, unless the laboratory denied them."""
        allows = self.authorizer.allows
        return [
            denial
            for denial in self._denials.values()
            if denial.by_laboratory or not allows(denial.principal, denial.host, denial.right, denial.name)
        ]

    def add(self, acls: Iterable[AclBinding]) -> None:
        """Add ACLs.

        Raises:
            OSError: If they cannot be stored; nothing has changed then.
        """
        new = [acl for acl in dict.fromkeys(acls) if acl not in self.authorizer.acls]
        if self._state.directory is not None and new:
            self._state.directory.acls_changed(map(in_words, new), ())
        for acl in new:
            self.authorizer.add(acl)

    def remove(self, acls: Iterable[AclBinding]) -> None:
        """Remove existing ACLs.

        Raises:
            OSError: If that cannot be stored; nothing has changed then.
        """
        removed = list(dict.fromkeys(acls))
        if self._state.directory is not None and removed:
            self._state.directory.acls_changed((), map(in_words, removed))
        for acl in removed:
            self.authorizer.remove(acl)

    def _refused(self, ticket: Ticket, right: Right, name: str) -> None:
        now_ms, principal, host = ticket.received_at_ms, ticket.principal, ticket.host
        api, group_id = ticket.api.spec.name, getattr(ticket.request, "group_id", None)
        allowed, rule = self.authorizer.decide(principal, host, right, name)
        if max(map(len, (principal.name, ticket.client_id, group_id or "", name))) > LONGEST_REMEMBERED:
            return  # names this long are attempts to fill the memory or the log
        key = (principal, host, ticket.client_id, api, group_id, right, name, allowed)
        denial = self._denials.get(key)
        if denial is None:
            if len(self._denials) >= MOST_REMEMBERED:
                del self._denials[next(iter(self._denials))]
            denial = self._denials[key] = Denial(*key, times=0, at_ms=now_ms, logged_ms=now_ms - LOGGED_EVERY_MS)
        denial.at_ms = now_ms
        denial.times += 1
        if now_ms - denial.logged_ms >= LOGGED_EVERY_MS:
            denial.logged_ms = now_ms
            _log(denial, "Laboratory" if allowed else rule)
            self._report(denial, ticket)

    def _report(self, denial: Denial, ticket: Ticket) -> None:
        group_id, right = denial.group_id, denial.right
        coordinator = None if group_id is None else self._offsets_topic.coordinator_of(group_id)
        detail = {
            "principal": str(denial.principal),
            "operation": right.operation.name,
            "resource": f"{right.resource_type.name}:{denial.name}",
            "n": str(denial.times),
        }
        if group_id is None or coordinator is None:
            detail["api"] = denial.api
            self._group_events.tell(ticket.requester.node_id, "access_denied", client_of(ticket), detail)
            return
        coordinator.observer.access_denied(group_id, ticket, detail)


def _log(denial: Denial, rule: AclBinding | str) -> None:
    right, name = denial.right, denial.name
    log.info(
        f"Principal = {denial.principal} is Denied operation = {right.operation.name} from host = {denial.host} on "
        f"resource = {right.resource_type.name}:LITERAL:{name} for request = {denial.api}, based on rule "
        f"{rule if isinstance(rule, str) else f'({rule})'}",
        principal=str(denial.principal),
        operation=right.operation.name,
        resource_type=right.resource_type.name,
        resource=name,
        api=denial.api,
        client_id=denial.client_id,
    )


def kept_acls(directory: DataDirectory) -> list[AclBinding]:
    """Return the ACLs in a directory.

    Raises:
        DataDirectoryError: If one is invalid.
    """
    return [_binding(saved, directory) for saved in directory.saved.acls]


def in_words(acl: AclBinding) -> SavedAcl:
    return (
        acl.resource_type.name,
        acl.pattern_type.name,
        acl.name,
        acl.principal,
        acl.host,
        acl.operation.name,
        acl.permission.name,
    )


def _binding(saved: SavedAcl, directory: DataDirectory) -> AclBinding:
    kind, pattern, name, principal, host, operation, permission = saved
    try:
        return AclBinding(
            ResourceType[kind],
            PatternType[pattern],
            name,
            principal,
            host,
            Operation[operation],
            Permission[permission],
        )
    except KeyError as unknown:
        raise DataDirectoryError(
            f"{directory.path}: the ACL {' '.join(saved)} contains an unknown word, {unknown}; correct that line of "
            "topics.jsonl; nothing has been changed"
        ) from None
