"""Kafka's error messages for requests about offsets of share groups."""

from kohort.protocol.errors import ErrorCode

SHARE_OFFSETS_ERRORS = {
    ErrorCode.unsupported_version: "The version of API is not supported.",
    ErrorCode.invalid_group_id: "The group id is invalid.",
    ErrorCode.non_empty_group: "The group is not empty.",
    ErrorCode.group_authorization_failed: "Group authorization failed.",
    ErrorCode.topic_authorization_failed: "Topic authorization failed.",
    ErrorCode.unknown_topic_or_partition: "This server does not host this topic-partition.",
    ErrorCode.not_coordinator: "This is not the correct coordinator.",
    ErrorCode.coordinator_not_available: "The coordinator is not available.",
    ErrorCode.coordinator_load_in_progress: "The coordinator is loading and hence can't process requests.",
    ErrorCode.unknown_server_error: "The server experienced an unexpected error when processing the request.",
}
