"""Delegation tokens (KIP-48) are refused as by a Kafka 4.3.0 without `delegation.token.secret.key`: its bytes."""

from __future__ import annotations

from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode as E
from kohort.protocol.messages.create_delegation_token import CreatableRenewers
from tests.support.broker import Broker, Client
from tests.support.frames import frame
from tests.support.rights import allow, client_of, guarded_broker

NO_TIMES = "ff" * 24
"""-1 three times, where Kafka has not asked its controller."""

OF_ANONYMOUS = "05557365720a414e4f4e594d4f5553"
OF_ALICE = "055573657206616c696365"
OF_CARL = "0555736572056361726c"


def answer(client: Client, name: str, version: int, **fields: Any) -> str:
    client.says(frame(name, version, 7, **fields))
    (response,) = client.heard()
    return response[4:].hex()


def creates(client: Client, version: int = 3, owner: str | None = None, renewer: str | None = None) -> str:
    renewers = () if renewer is None else (CreatableRenewers(principal_type=renewer, principal_name="x"),)
    return answer(
        client,
        "create_delegation_token",
        version,
        renewers=renewers,
        max_lifetime_ms=-1,
        owner_principal_type=owner and "User",
        owner_principal_name=owner,
    )


def test_anonymous_clients_are_rejected() -> None:
    ada = Broker().client()
    assert creates(ada, 1) == f"00400004557365720009414e4f4e594d4f5553{NO_TIMES}{'00' * 10}"
    assert creates(ada, 2) == f"000040{OF_ANONYMOUS}{NO_TIMES}01010000000000"
    assert creates(ada) == f"000040{OF_ANONYMOUS}{OF_ANONYMOUS}{NO_TIMES}01010000000000"
    assert creates(ada, owner="carl") == f"000040{OF_CARL}{OF_ANONYMOUS}{NO_TIMES}01010000000000"
    for name, field in (("renew", "renew_period_ms"), ("expire", "expiry_time_period_ms")):
        assert answer(ada, f"{name}_delegation_token", 1, hmac=b"x", **{field: -1}) == f"0040{'ff' * 8}00000000"
        assert answer(ada, f"{name}_delegation_token", 2, hmac=b"x", **{field: -1}) == f"000040{'ff' * 8}0000000000"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_tokens_cannot_be_listed_either(version: int) -> None:
    for client, error in (
        (Broker().client(), E.delegation_token_request_not_allowed),
        (client_of(guarded_broker(), "alice"), E.delegation_token_auth_disabled),
    ):
        response = client.asks("describe_delegation_token", version, owners=None)
        assert (response.error_code, response.tokens) == (error, ())


def test_disabled_tokens_are_reported() -> None:
    alice = client_of(guarded_broker(), "alice")
    assert creates(alice) == f"00003d{OF_ALICE}{OF_ALICE}{'00' * 24}01010000000000"
    assert answer(alice, "renew_delegation_token", 2, hmac=b"x", renew_period_ms=-1) == f"00003d{'00' * 13}"
    assert answer(alice, "expire_delegation_token", 2, hmac=b"x", expiry_time_period_ms=-1) == f"00003d{'00' * 13}"


def test_token_for_other_user_requires_right() -> None:
    broker = guarded_broker()
    alice = client_of(broker, "alice")
    assert creates(alice, owner="carl") == f"000041{OF_CARL}{OF_ALICE}{NO_TIMES}01010000000000"
    assert creates(alice, renewer="Group") == f"000043{OF_ALICE}{OF_ALICE}{NO_TIMES}01010000000000"
    allow(broker, "User:alice CreateTokens user User:carl")
    assert creates(alice, owner="carl") == f"00003d{OF_CARL}{OF_ALICE}{'00' * 24}01010000000000"
