"""InitProducerId: ids for idempotent producers."""

from typing import Any

import pytest

from kohort.protocol.errors import ErrorCode
from tests.support.broker import Broker, Client


def asks(client: Client, transactional_id: str | None = None, version: int = 4, **more: int) -> Any:
    response = client.asks(
        "init_producer_id", version, transactional_id=transactional_id, transaction_timeout_ms=60_000, **more
    )
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_producer_ids_are_unique(version: int) -> None:
    broker = Broker(nodes=2)
    ids = {asks(broker.client(node), version=version)[1] for node in (0, 1, 0)}
    assert len(ids) == 3
    assert min(ids) >= 0


@pytest.mark.parametrize("version", range(6))
def test_rejects_empty_transactional_id(version: int) -> None:
    assert asks(Broker().client(), "", version) == (ErrorCode.invalid_request, -1, -1)


def test_missing_coordinator_is_reported() -> None:
    assert asks(Broker().client(), "t") == (ErrorCode.not_coordinator, -1, -1)


def test_id_and_epoch_are_required_together() -> None:
    ada = Broker().client()
    assert asks(ada, producer_id=5) == (ErrorCode.invalid_request, -1, -1)
    assert asks(ada, producer_epoch=5) == (ErrorCode.invalid_request, -1, -1)
    error_code, producer_id, epoch = asks(ada, producer_id=5, producer_epoch=3)
    assert (error_code, epoch) == (ErrorCode.none, 0)
    assert producer_id != 5
