"""Operations and resources as a test names them: `"Read"`, `topic="orders"`."""

from __future__ import annotations

from kohort.control.control_errors import ControlError, unknown
from kohort.security.acls import CLUSTER_NAME, Operation, ResourceType


def operation_named(word: str) -> Operation:
    """By Kafka's name, `DescribeConfigs` or `DESCRIBE_CONFIGS`. Raises ControlError, with the nearest one."""
    known = {"".join(map(str.capitalize, each.name.split("_"))): each for each in Operation if each > Operation.ANY}
    plain = {name.lower(): each for name, each in known.items()}
    found = plain.get(str(word).replace("_", "").lower())
    if found is None:
        raise unknown("operation", word, known)
    return found


def resource_named(
    topic: str | None, group: str | None, transactional_id: str | None, *, cluster: bool
) -> tuple[ResourceType, str] | None:
    """The one resource that is named; None: none is. Raises ControlError for several."""
    named = [
        (ResourceType.TOPIC, topic),
        (ResourceType.GROUP, group),
        (ResourceType.TRANSACTIONAL_ID, transactional_id),
        (ResourceType.CLUSTER, CLUSTER_NAME if cluster else None),
    ]
    given = [(kind, name) for kind, name in named if name is not None]
    if len(given) > 1:
        raise ControlError("name one resource: a topic, a group, a transactional id or the cluster")
    return given[0] if given else None
