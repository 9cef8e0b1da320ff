"""A broker with an authorizer, people who talk to it, and what ACLs let them do."""

from __future__ import annotations

from typing import Any

from kohort.broker.cluster.access import Access
from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.security.principal import Principal
from tests.security.acls_as_text import acl
from tests.support.broker import Broker, Client


def guarded_broker(**settings: Any) -> Broker:
    """A broker on which `User:admin` may do everything, and nobody else anything."""
    return Broker(**{"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": "User:admin", **settings})


def access_of(broker: Broker) -> Access:
    access = broker.cluster.access
    assert access is not None
    return access


def client_of(broker: Broker, user: str, **where: Any) -> Client:
    """A connection of that user's, who is logged in."""
    client = Client(broker, **where)
    client.connection.principal = Principal("User", user)
    return client


def allow(broker: Broker, *texts: str) -> None:
    """`allow(broker, "User:alice Read topic t")`"""
    access_of(broker).add([acl(f"allow {text}") for text in texts])


def deny(broker: Broker, *texts: str) -> None:
    access_of(broker).add([acl(f"deny {text}") for text in texts])


def take_back(broker: Broker, *texts: str) -> None:
    """What `allow` has allowed."""
    access_of(broker).remove([acl(f"allow {text}") for text in texts])
