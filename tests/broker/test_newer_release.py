"""A broker that emulates Kafka 4.4: parts that its recorded conversations do not cover."""

from __future__ import annotations

import pytest

from kohort.protocol.errors import CONTROLLER_ID_NOT_REGISTERED
from kohort.protocol.errors import ErrorCode as E
from tests.support.broker import Broker

SOFTWARE = {"client_software_name": "kohort", "client_software_version": "1.0"}


def newer_broker() -> Broker:
    return Broker(kohort_as_kafka="4.4")


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [
        (None, -1, E.none),
        ("", 1, E.rebootstrap_required),
        ("another", 1, E.rebootstrap_required),
        ("another", -1, E.invalid_request),
        (None, 1, E.invalid_request),
    ],
)
def test_api_versions_checks_expected_cluster(cluster_id: str | None, node_id: int, error: E) -> None:
    response = newer_broker().client().asks("api_versions", 5, cluster_id=cluster_id, node_id=node_id, **SOFTWARE)
    assert (response.error_code, bool(response.api_keys)) == (error, error is E.none)


def test_unregister_controller_knows_no_controller() -> None:
    response = newer_broker().client().asks("unregister_controller", 0, controller_id=7)
    assert response.error_code is CONTROLLER_ID_NOT_REGISTERED
    assert response.error_message == "Controller ID 7 is not currently registered."
