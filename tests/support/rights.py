"""A broker with an authorizer, clients of several users, and their ACLs."""

from __future__ import annotations

from typing import Any

from kohort.broker.cluster.access import Access
from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.security.principal import Principal
from tests.security.acls_as_text import acl
from tests.support.broker import Broker, Client


def guarded_broker(**settings: Any) -> Broker:
    """Create a broker on which only `User:admin` has permissions."""
    return Broker(**{"authorizer_class_name": STANDARD_AUTHORIZER, "super_users": "User:admin", **settings})


def access_of(broker: Broker) -> Access:
    access = broker.cluster.access
    assert access is not None
    return access


def client_of(broker: Broker, user: str, **where: Any) -> Client:
    """Return a connection on which this user has logged in."""
    client = Client(broker, **where)
    client.connection.principal = Principal("User", user)
    return client


def allow(broker: Broker, *texts: str) -> None:
    """Add ACLs, as in `allow(broker, "User:alice Read topic t")`."""
    access_of(broker).add([acl(f"allow {text}") for text in texts])


def deny(broker: Broker, *texts: str) -> None:
    access_of(broker).add([acl(f"deny {text}") for text in texts])


def take_back(broker: Broker, *texts: str) -> None:
    """Remove ACLs that `allow` has added."""
    access_of(broker).remove([acl(f"allow {text}") for text in texts])
