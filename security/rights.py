"""Rights: an operation on a type of resource. Each pair is one object, compared by identity."""

from __future__ import annotations

from kohort.security.acls import Operation, ResourceType


class Right:
    """An operation on a type of resource, such as `READ_TOPIC`. The constants below are all rights."""

    __slots__ = ("operation", "resource_type")

    def __init__(self, operation: Operation, resource_type: ResourceType) -> None:
        self.operation = operation
        self.resource_type = resource_type

    def __repr__(self) -> str:
        return f"{self.operation.name}_{self.resource_type.name}"


READ_TOPIC = Right(Operation.READ, ResourceType.TOPIC)
WRITE_TOPIC = Right(Operation.WRITE, ResourceType.TOPIC)
CREATE_TOPIC = Right(Operation.CREATE, ResourceType.TOPIC)
DELETE_TOPIC = Right(Operation.DELETE, ResourceType.TOPIC)
ALTER_TOPIC = Right(Operation.ALTER, ResourceType.TOPIC)
DESCRIBE_TOPIC = Right(Operation.DESCRIBE, ResourceType.TOPIC)
DESCRIBE_CONFIGS_TOPIC = Right(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC)
ALTER_CONFIGS_TOPIC = Right(Operation.ALTER_CONFIGS, ResourceType.TOPIC)

READ_GROUP = Right(Operation.READ, ResourceType.GROUP)
DELETE_GROUP = Right(Operation.DELETE, ResourceType.GROUP)
DESCRIBE_GROUP = Right(Operation.DESCRIBE, ResourceType.GROUP)
DESCRIBE_CONFIGS_GROUP = Right(Operation.DESCRIBE_CONFIGS, ResourceType.GROUP)
ALTER_CONFIGS_GROUP = Right(Operation.ALTER_CONFIGS, ResourceType.GROUP)

CREATE_CLUSTER = Right(Operation.CREATE, ResourceType.CLUSTER)
DELETE_CLUSTER = Right(Operation.DELETE, ResourceType.CLUSTER)
ALTER_CLUSTER = Right(Operation.ALTER, ResourceType.CLUSTER)
DESCRIBE_CLUSTER = Right(Operation.DESCRIBE, ResourceType.CLUSTER)
CLUSTER_ACTION = Right(Operation.CLUSTER_ACTION, ResourceType.CLUSTER)
DESCRIBE_CONFIGS_CLUSTER = Right(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
ALTER_CONFIGS_CLUSTER = Right(Operation.ALTER_CONFIGS, ResourceType.CLUSTER)
IDEMPOTENT_WRITE = Right(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER)

WRITE_TRANSACTIONAL_ID = Right(Operation.WRITE, ResourceType.TRANSACTIONAL_ID)
DESCRIBE_TRANSACTIONAL_ID = Right(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID)

CREATE_TOKENS_USER = Right(Operation.CREATE_TOKENS, ResourceType.USER)

REPORTED_RIGHTS: dict[ResourceType, tuple[Right, ...]] = {
    ResourceType.TOPIC: (
        READ_TOPIC,
        WRITE_TOPIC,
        CREATE_TOPIC,
        DELETE_TOPIC,
        ALTER_TOPIC,
        DESCRIBE_TOPIC,
        DESCRIBE_CONFIGS_TOPIC,
        ALTER_CONFIGS_TOPIC,
    ),
    ResourceType.GROUP: (READ_GROUP, DELETE_GROUP, DESCRIBE_GROUP, DESCRIBE_CONFIGS_GROUP, ALTER_CONFIGS_GROUP),
    ResourceType.CLUSTER: (
        CREATE_CLUSTER,
        ALTER_CLUSTER,
        DESCRIBE_CLUSTER,
        CLUSTER_ACTION,
        DESCRIBE_CONFIGS_CLUSTER,
        ALTER_CONFIGS_CLUSTER,
        IDEMPOTENT_WRITE,
    ),
}  # Operations that responses report as authorized, by resource type: all of the type's operations (acls §6).


# all operations as bits, as reported by a broker without an authorizer
ALL_OPERATIONS = {kind: sum(1 << right.operation for right in rights) for kind, rights in REPORTED_RIGHTS.items()}
