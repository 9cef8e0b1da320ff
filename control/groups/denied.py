"""Missing rights of a group's clients, in sentences for the explanation of the group."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kohort.broker.cluster.access import Access, Denial
from kohort.control.faults.table import Faults
from kohort.control.request_facts import kafka_name
from kohort.security.acls import AclBinding

OPTIONS = {
    "TOPIC": "--topic '{}'",
    "GROUP": "--group '{}'",
    "TRANSACTIONAL_ID": "--transactional-id '{}'",
    "CLUSTER": "--cluster",
}  # options of `kafka-acls` by resource type


def denied(
    access: Access | None, faults: Faults, group_id: str, client_ids: Collection[str], now_ms: int
) -> Iterator[str]:
    """Yield a sentence for each right that a client of the group lacks now.

    Args:
        access: None if the cluster doesn't check rights.
        client_ids: Client ids of the members.
    """
    if access is None:
        return
    for denial in access.denials:
        is_over = denial.by_laboratory and not faults.take_away(denial.right, denial.name)
        is_about = denial.group_id == group_id or (denial.group_id is None and denial.client_id in client_ids)
        if is_about and not is_over:
            yield _sentence(access, denial, now_ms)


def _sentence(access: Access, denial: Denial, now_ms: int) -> str:
    right, principal = denial.right, denial.principal
    operation = kafka_name(right.operation.name.lower())
    resource = right.resource_type.name.lower().replace("_", " ")
    times = "once" if denial.times == 1 else f"{denial.times} times"
    text = (
        f"{denial.client_id or 'a client without an id'} ({principal} from {denial.host}) was refused its "
        f"{kafka_name(denial.api)} {times}, the last one {(now_ms - denial.at_ms) / 1_000:g} s ago: it needs "
        f"{operation} on {resource} {denial.name}"
    )
    if denial.by_laboratory:
        return text + ", which a rule of the laboratory denies"
    rule = access.authorizer.decide(principal, denial.host, right, denial.name).rule
    if isinstance(rule, AclBinding):
        return text + f"; the ACL ({rule}) denies it"
    option = OPTIONS[right.resource_type.name].format(denial.name)
    return (
        text + f"; no ACL allows it: kafka-acls --add --allow-principal '{principal}' --operation {operation} {option}"
    )
