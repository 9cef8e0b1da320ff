"""Operations and resources by the names that tests use: `"Read"`, `topic="orders"`."""

from __future__ import annotations

from kohort.control.control_errors import ControlError, unknown
from kohort.security.acls import CLUSTER_NAME, Operation, ResourceType


def operation_named(word: str) -> Operation:
    """Return an operation by Kafka's name, `DescribeConfigs` or `DESCRIBE_CONFIGS`.

    Raises:
        ControlError: The name is unknown; the message suggests the nearest one.
    """
    operations = {
        "".join(map(str.capitalize, operation.name.split("_"))): operation
        for operation in Operation
        if operation > Operation.ANY
    }
    plain = {name.lower(): operation for name, operation in operations.items()}
    match = plain.get(str(word).replace("_", "").lower())
    if match is None:
        raise unknown("operation", word, operations)
    return match


def resource_named(
    topic: str | None, group: str | None, transactional_id: str | None, *, cluster: bool
) -> tuple[ResourceType, str] | None:
    named = [
        (ResourceType.TOPIC, topic),
        (ResourceType.GROUP, group),
        (ResourceType.TRANSACTIONAL_ID, transactional_id),
        (ResourceType.CLUSTER, CLUSTER_NAME if cluster else None),
    ]
    resources = [(kind, name) for kind, name in named if name is not None]
    if len(resources) > 1:
        raise ControlError("name one resource: a topic, a group, a transactional id or the cluster")
    return resources[0] if resources else None
