"""DeleteGroups (key 42), versions 0-3: delete empty groups with all their offsets (KIP-229).

v1: throttle time as in other APIs. v2: flexible. v3: error messages (KIP-1331). A duplicate id has one
result.
"""

from functools import partial

from kohort.broker.cluster.node import Node
from kohort.broker.scheduling.cooperative import Task
from kohort.broker.ticket import Ticket
from kohort.coordinator.groups.deleting import delete_group
from kohort.protocol.errors import GROUP_DELETION_FAILED, ErrorCode
from kohort.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from kohort.security.rights import DELETE_GROUP

MESSAGES_SINCE = 3
DESCRIPTION_NOT_DELETED = "Topology description plugin failed to delete the topology."


def handle(node: Node, request: DeleteGroupsRequest, ticket: Ticket) -> Task[DeleteGroupsResponse | None]:
    """Delete groups. The response is sent when the deletions are written."""
    group_ids = dict.fromkeys(request.groups_names)
    results: dict[str, DeletableGroupResult] = {}
    access = node.cluster.access

    def deleted(group_id: str, error: ErrorCode, _: int) -> None:
        results[group_id] = _result(group_id, error, ticket.version)
        if len(results) == len(group_ids):
            ticket.reply(DeleteGroupsResponse(results=tuple(results.values())))

    for group_id in group_ids:
        if access is not None and not access.allows(ticket, DELETE_GROUP, group_id):
            refusal = ErrorCode.group_authorization_failed
        else:
            refusal = delete_group(node.coordinator, group_id, ticket.received_at_ms, partial(deleted, group_id))
        if refusal is not ErrorCode.none:
            deleted(group_id, refusal, ticket.received_at_ms)
        yield
    return None if group_ids else DeleteGroupsResponse(results=())


def _result(group_id: str, error: ErrorCode, version: int) -> DeletableGroupResult:
    if error is not GROUP_DELETION_FAILED:
        return DeletableGroupResult(group_id=group_id, error_code=error)
    if version < MESSAGES_SINCE:
        return DeletableGroupResult(group_id=group_id, error_code=ErrorCode.unknown_server_error)
    return DeletableGroupResult(group_id=group_id, error_code=error, error_message=DESCRIPTION_NOT_DELETED)


def error_response(request: DeleteGroupsRequest, error_code: ErrorCode) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=tuple(
            DeletableGroupResult(group_id=name, error_code=error_code) for name in dict.fromkeys(request.groups_names)
        )
    )
