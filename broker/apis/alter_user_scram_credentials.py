"""AlterUserScramCredentials (key 51), version 0 (KIP-554): sets and deletes SCRAM credentials of users.

Source: Kafka's `ScramControlManager.alterCredentials`; logins.md §7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.broker.apis.acl_requests import needs_permission
from kohort.broker.scheduling.cooperative import one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_user_scram_credentials import (
    AlteredUser,
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kohort.security.rights import ALTER_CLUSTER
from kohort.security.scram_credentials import CredentialRefusal, Deletion, Upsertion

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.scheduling.cooperative import Task
    from kohort.broker.ticket import Ticket


def handle(
    node: Node, request: AlterUserScramCredentialsRequest, ticket: Ticket
) -> Task[AlterUserScramCredentialsResponse]:
    """Alter credentials and return one result for each user."""
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, ALTER_CLUSTER):
        message = needs_permission(ticket, ALTER_CLUSTER)
        return error_response(request, ErrorCode.cluster_authorization_failed, message)
    deletions = yield from one_by_one(_deletion, request.deletions)
    upsertions = yield from one_by_one(_upsertion, request.upsertions)
    refusals = yield from node.cluster.scram_credentials.alter(deletions, upsertions)
    return AlterUserScramCredentialsResponse(results=(yield from one_by_one(_result, refusals.items())))


def _deletion(deletion: ScramCredentialDeletion) -> Deletion:
    return Deletion(deletion.name, deletion.mechanism)


def _upsertion(upsertion: ScramCredentialUpsertion) -> Upsertion:
    return Upsertion(
        upsertion.name, upsertion.mechanism, upsertion.iterations, upsertion.salt, upsertion.salted_password
    )


def _result(altered: tuple[str, CredentialRefusal | None]) -> AlteredUser:
    user, refusal = altered
    if refusal is None:
        return AlteredUser(user=user, error_code=ErrorCode.none)
    return AlteredUser(user=user, error_code=refusal.error_code, error_message=refusal.message)


def error_response(
    request: AlterUserScramCredentialsRequest, error_code: ErrorCode, message: str | None = None
) -> AlterUserScramCredentialsResponse:
    names = dict.fromkeys([entry.name for entry in request.deletions] + [entry.name for entry in request.upsertions])
    return AlterUserScramCredentialsResponse(
        results=tuple(AlteredUser(user=name, error_code=error_code, error_message=message) for name in names)
    )
