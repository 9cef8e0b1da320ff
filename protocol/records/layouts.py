"""Every key and value of `__consumer_offsets`, `__share_group_state` and `__transaction_state`, as data.

Source: the JSON schemas of Kafka's coordinators up to 4.4, and segment files of a running 4.3.0. If one version number
has two layouts (4.0 and later), the analysis tries them in order and uses the first one that consumes every byte. The
first one is Kafka's own, which the coordinators use.
"""

from kohort.protocol.records.schema import Array, Field, Layout, TopicLayouts, struct

OFFSET_COMMIT_LEGACY, OFFSET_COMMIT, GROUP_METADATA = 0, 1, 2
GROUP_EPOCH, PARTITION_METADATA, MEMBER, TARGET_EPOCH, TARGET_MEMBER, CURRENT_MEMBER = 3, 4, 5, 6, 7, 8
SHARE_PARTITION_METADATA, SHARE_MEMBER, SHARE_EPOCH, SHARE_TARGET_EPOCH, SHARE_TARGET_MEMBER = 9, 10, 11, 12, 13
SHARE_CURRENT_MEMBER, SHARE_STATE_PARTITIONS, REGULAR_EXPRESSION = 14, 15, 16
STREAMS_EPOCH, STREAMS_PARTITION_METADATA, STREAMS_MEMBER, STREAMS_TARGET_EPOCH, STREAMS_TARGET_MEMBER = (
    17, 18, 19, 20, 21,
)  # fmt: skip
STREAMS_CURRENT_MEMBER, STREAMS_TOPOLOGY = 22, 23

GROUP_TYPES = {
    **dict.fromkeys((0, 1), "offsets"),
    2: "classic",
    **dict.fromkeys((3, 4, 5, 6, 7, 8, 16), "consumer"),
    **dict.fromkeys((9, 10, 11, 12, 13, 14, 15), "share"),
    **dict.fromkeys((17, 18, 19, 20, 21, 22, 23), "streams"),
}

_group = (Field("group", "string"),)
_group_id = (Field("groupId", "string"),)
_member_key = (*_group_id, Field("memberId", "string"))

_KEYS = {
    0: struct(*_group, Field("topic", "string"), Field("partition", "int32")),
    1: struct(*_group, Field("topic", "string"), Field("partition", "int32")),
    2: struct(*_group),
    **{t: struct(*_group_id) for t in (3, 4, 6, 9, 11, 12, 15, 17, 18, 20, 23)},
    **{t: struct(*_member_key) for t in (5, 7, 8, 10, 13, 14, 19, 21, 22)},
    16: struct(*_group_id, Field("regularExpression", "string")),
}

_commit = struct(
    Field("offset", "int64"),
    Field("leaderEpoch", "int32", since=3, default=-1),
    Field("metadata", "string"),
    Field("commitTimestamp", "int64"),
    Field("expireTimestamp", "int64", since=1, until=1, default=-1),
    Field("topicId", "uuid", since=4, tag=0, default=bytes(16)),
)

_classic_member = (
    Field("memberId", "string"),
    Field("groupInstanceId", "string?", since=3),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("rebalanceTimeout", "int32", since=1, default=-1),
    Field("sessionTimeout", "int32"),
    Field("subscription", "bytes"),
    Field("assignment", "bytes"),
)


def _classic_group(*member: Field) -> Layout:
    body = struct(
        Field("protocolType", "string"),
        Field("generation", "int32"),
        Field("protocol", "string?"),
        Field("leader", "string?"),
        Field("currentStateTimestamp", "int64", since=2, default=-1),
        Field("members", Array(struct(*member))),
    )
    return Layout(body, versions=(0, 4), flexible_from=4)


_topic_partitions = struct(
    Field("topicId", "uuid"),
    Field("partitions", Array("int32")),
    Field("assignmentEpochs", Array("int32", nullable=True), tag=0),
)
_partition_metadata = struct(
    Field(
        "topics",
        Array(
            struct(
                Field("topicId", "uuid"),
                Field("topicName", "string"),
                Field("numPartitions", "int32"),
                Field("partitionMetadata", Array(struct(Field("partition", "int32"), Field("racks", Array("string"))))),
            )
        ),
    )
)
_member = struct(
    Field("instanceId", "string?"),
    Field("rackId", "string?"),
    Field("clientId", "string"),
    Field("clientHost", "string"),
    Field("subscribedTopicNames", Array("string")),
    Field("subscribedTopicRegex", "string?"),
    Field("rebalanceTimeoutMs", "int32"),
    Field("serverAssignor", "string?"),
    Field(
        "classicMemberMetadata",
        struct(
            Field("sessionTimeoutMs", "int32"),
            Field("supportedProtocols", Array(struct(Field("name", "string"), Field("metadata", "bytes")))),
            nullable=True,
        ),
        tag=0,
    ),
)
_target_epoch = struct(Field("assignmentEpoch", "int32"), Field("assignmentTimestamp", "int64", tag=0, default=0))
_target_member = struct(Field("topicPartitions", Array(_topic_partitions)))
_share_topic = struct(Field("topicId", "uuid"), Field("topicName", "string"), Field("partitions", Array("int32")))
_deleted_topic = struct(Field("topicId", "uuid"), Field("topicName", "string"))
_task_ids = struct(
    Field("subtopologyId", "string"),
    Field("partitions", Array("int32")),
    Field("assignmentEpochs", Array("int32", nullable=True), tag=0),
)
_key_value = struct(Field("key", "string"), Field("value", "string"))
_topic_info = struct(
    Field("name", "string"),
    Field("partitions", "int32"),
    Field("replicationFactor", "int16"),
    Field("topicConfigs", Array(_key_value)),
)

STREAMS_SUBTOPOLOGY = struct(
    Field("subtopologyId", "string"),
    Field("sourceTopics", Array("string")),
    Field("sourceTopicRegex", Array("string")),
    Field("stateChangelogTopics", Array(_topic_info)),
    Field("repartitionSinkTopics", Array("string")),
    Field("repartitionSourceTopics", Array(_topic_info)),
    Field(
        "copartitionGroups",
        Array(
            struct(
                Field("sourceTopics", Array("int16")),
                Field("sourceTopicRegex", Array("int16")),
                Field("repartitionSourceTopics", Array("int16")),
            )
        ),
    ),
)


def _flexible(*fields: Field, dialect: str = "") -> Layout:
    return Layout(struct(*fields), flexible_from=0, dialect=dialect)


_EPOCHS = (Field("memberEpoch", "int32"), Field("previousMemberEpoch", "int32"), Field("state", "int8"))
_TASKS = tuple(Field(name, Array(_task_ids)) for name in ("activeTasks", "standbyTasks", "warmupTasks"))
_REVOKED_TASKS = tuple(
    Field(f"{name}PendingRevocation", Array(_task_ids)) for name in ("activeTasks", "standbyTasks", "warmupTasks")
)

_VALUES: dict[int, tuple[Layout, ...]] = {
    0: (Layout(_commit, versions=(0, 4), flexible_from=4),),
    1: (Layout(_commit, versions=(0, 4), flexible_from=4),),
    2: (
        _classic_group(*_classic_member),
        # Redpanda puts a version in front of every member
        Layout(_classic_group(Field("memberVersion", "int16"), *_classic_member).body, (0, 3), dialect="redpanda"),
    ),
    3: (
        _flexible(
            Field("epoch", "int32"),
            Field("metadataHash", "int64", tag=0, default=0),
            Field("creationTimeMs", "int64", tag=1, default=-1),
        ),
    ),
    4: (Layout(_partition_metadata, flexible_from=0),),
    5: (Layout(_member, flexible_from=0),),
    6: (Layout(_target_epoch, flexible_from=0),),
    7: (Layout(_target_member, flexible_from=0),),
    8: (
        _flexible(
            *_EPOCHS,
            Field("assignedPartitions", Array(_topic_partitions)),
            Field("partitionsPendingRevocation", Array(_topic_partitions)),
        ),
    ),
    9: (Layout(_partition_metadata, flexible_from=0),),
    10: (
        _flexible(
            Field("rackId", "string?"),
            Field("clientId", "string"),
            Field("clientHost", "string"),
            Field("subscribedTopicNames", Array("string")),
        ),
    ),
    11: (
        _flexible(Field("epoch", "int32"), Field("metadataHash", "int64")),
        _flexible(Field("epoch", "int32"), dialect="4.0"),
    ),
    12: (Layout(_target_epoch, flexible_from=0),),
    13: (Layout(_target_member, flexible_from=0),),
    14: (_flexible(*_EPOCHS, Field("assignedPartitions", Array(_topic_partitions))),),
    15: (
        _flexible(
            Field("initializingTopics", Array(_share_topic)),
            Field("initializedTopics", Array(_share_topic)),
            Field("deletingTopics", Array(_deleted_topic)),
        ),
        _flexible(
            Field("initializedTopics", Array(_share_topic)),
            Field("deletingTopics", Array(_deleted_topic)),
            dialect="4.0",
        ),
    ),
    16: (
        _flexible(
            Field("topics", Array("string")),
            Field("version", "int64"),
            Field("timestamp", "int64"),
        ),
    ),
    17: (
        _flexible(
            Field("epoch", "int32"),
            Field("metadataHash", "int64"),
            Field("validatedTopologyEpoch", "int32", tag=0, default=-1),
            Field("lastAssignmentConfigs", Array(_key_value, nullable=True), tag=1),
            Field("storedDescriptionTopologyEpoch", "int32", tag=2, default=-1),  # this and the next one since 4.4
            Field("failedDescriptionTopologyEpoch", "int32", tag=3, default=-1),
        ),
    ),
    19: (
        _flexible(
            Field("instanceId", "string?"),
            Field("rackId", "string?"),
            Field("clientId", "string"),
            Field("clientHost", "string"),
            Field("rebalanceTimeoutMs", "int32"),
            Field("topologyEpoch", "int32"),
            Field("processId", "string"),
            Field("userEndpoint", struct(Field("host", "string"), Field("port", "uint16"), nullable=True)),
            Field("clientTags", Array(_key_value)),
        ),
    ),
    20: (Layout(_target_epoch, flexible_from=0),),
    21: (_flexible(*_TASKS),),
    22: (_flexible(*_EPOCHS, *_TASKS, *_REVOKED_TASKS),),
    23: (
        _flexible(
            Field("epoch", "int32"),
            Field("subtopologies", Array(STREAMS_SUBTOPOLOGY)),
        ),
    ),
}

CONSUMER_OFFSETS = TopicLayouts(_KEYS, _VALUES)

SHARE_SNAPSHOT, SHARE_UPDATE = 0, 1
# States of records in batches. Acquired records are never written; archiving ones await their dead letter (KIP-1191).
AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED = 0, 2, 3, 4
NO_OFFSET, NO_COUNT = -1, -1

_state_batch = struct(
    Field("firstOffset", "int64"),
    Field("lastOffset", "int64"),
    Field("deliveryState", "int8"),
    Field("deliveryCount", "int16"),
)
_delivery_complete_count = Field("deliveryCompleteCount", "int32", tag=0, default=NO_COUNT)

SHARE_GROUP_STATE = TopicLayouts(
    keys=dict.fromkeys(
        (SHARE_SNAPSHOT, SHARE_UPDATE),
        struct(Field("groupId", "string"), Field("topicId", "uuid"), Field("partition", "int32")),
    ),
    values={
        SHARE_SNAPSHOT: (
            _flexible(
                Field("snapshotEpoch", "int32"),
                Field("stateEpoch", "int32"),
                Field("leaderEpoch", "int32"),
                Field("startOffset", "int64"),
                _delivery_complete_count,
                Field("createTimestamp", "int64"),
                Field("writeTimestamp", "int64"),
                Field("stateBatches", Array(_state_batch)),
            ),
        ),
        SHARE_UPDATE: (
            _flexible(
                Field("snapshotEpoch", "int32"),
                Field("leaderEpoch", "int32"),
                Field("startOffset", "int64"),
                _delivery_complete_count,
                Field("stateBatches", Array(_state_batch)),
            ),
        ),
    },
)

TRANSACTION = 0

_transaction = struct(
    Field("producerId", "int64"),
    Field("previousProducerId", "int64", since=1, tag=0, default=-1),
    Field("nextProducerId", "int64", since=1, tag=1, default=-1),
    Field("producerEpoch", "int16"),
    Field("transactionTimeoutMs", "int32"),
    Field("transactionStatus", "int8"),
    Field(
        "transactionPartitions",
        Array(struct(Field("topic", "string"), Field("partitionIds", Array("int32"))), nullable=True),
    ),
    Field("transactionLastUpdateTimestampMs", "int64"),
    Field("transactionStartTimestampMs", "int64"),
    Field("clientTransactionVersion", "int16", since=1, tag=2, default=0),
)

TRANSACTION_STATE = TopicLayouts(
    keys={TRANSACTION: struct(Field("transactionalId", "string"))},
    values={TRANSACTION: (Layout(_transaction, versions=(0, 1), flexible_from=1),)},
)
