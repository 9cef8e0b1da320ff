"""DescribeUserScramCredentials (key 50), version 0 (KIP-554): users with SCRAM credentials.

Source: Kafka's `ScramImage.describe`; logins.md §7.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from kohort.broker.scheduling.cooperative import Task, one_by_one
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribedUser,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from kohort.security.rights import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from kohort.broker.cluster.node import Node
    from kohort.broker.ticket import Ticket
    from kohort.security.scram_credentials import ScramCredentials


def handle(
    node: Node, request: DescribeUserScramCredentialsRequest, ticket: Ticket
) -> Task[DescribeUserScramCredentialsResponse]:
    access = node.cluster.access
    if access is not None and not access.allows_on_cluster(ticket, DESCRIBE_CLUSTER):
        error = ErrorCode.cluster_authorization_failed
        return DescribeUserScramCredentialsResponse(
            error_code=error,
            error_message=None,
            results=(DescribedUser(user="", error_code=error, error_message=None),),
        )
    credentials = node.cluster.scram_credentials
    times = Counter(user.name for user in request.users or ())
    names = list(times) if request.users else credentials.users()
    results = yield from one_by_one(partial(_described, credentials, times), names)
    return DescribeUserScramCredentialsResponse(error_code=ErrorCode.none, error_message="", results=results)


def _described(credentials: ScramCredentials, times: Counter[str], user: str) -> DescribedUser:
    if times[user] > 1:
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
        return DescribedUser(user=user, error_code=ErrorCode.duplicate_resource, error_message=message)
    user_credentials = credentials.of(user)
    if not user_credentials:
        message = f"Attempt to describe a user credential that does not exist: {user}"
        return DescribedUser(user=user, error_code=ErrorCode.resource_not_found, error_message=message)
    infos = tuple(
        CredentialInfo(mechanism=mechanism.value, iterations=credential.iterations)
        for mechanism, credential in user_credentials.items()
    )
    return DescribedUser(user=user, error_code=ErrorCode.none, error_message="", credential_infos=infos)
