"""No request keeps others waiting: of every API in the registry, whichever of its arrays is long.

An API that is added to the registry is tested without being named here.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

import pytest

from kohort.protocol.api_keys import APIS, ApiSpec
from kohort.protocol.messages import message_of
from tests.support.broker import Broker
from tests.support.frames import frame
from tests.support.largest_requests import GROUPS, prepare, requests_of
from tests.support.touched import TouchMeter

ELEMENTS = 3_000
"""More than are read at once (READ_AT_ONCE), and fewer than a request may hold, which would take minutes."""

PARTITIONS = 500

LINES_OF_AN_ELEMENT = 12
"""Elements may be looked at in one piece, to count or sort them: 50,000 of them in some 25 ms. All else is sliced."""

IN_ONE_PIECE = {
    "incremental_alter_configs resources.configs": (16, "the settings of a resource are checked and set together"),
    "leave_group members": (32, "a group removes all leaving members together; 40 ms for 49,000"),
    "produce topic_data": (24, "256 batches are appended in one step, however many there are (SHORT)"),
    "produce topic_data.partition_data": (24, "the same reason"),
    "streams_group_heartbeat topology.subtopologies": (18, "a topology is one record"),
    "streams_group_heartbeat topology.subtopologies.repartition_source_topics": (32, "the same reason"),
    "streams_group_heartbeat topology.subtopologies.state_changelog_topics": (32, "the same reason"),
}
"""Arrays of which more is done in one step: lines for each element, and why."""

pytestmark = pytest.mark.plain("lines of compiled modules are not counted")


def prepared() -> tuple[TouchMeter, UUID]:
    """Return a broker that has what the requests name, with a share group whose partitions are ready."""
    broker = Broker()
    meter = TouchMeter(broker)
    client = broker.client()

    def ask(name: str, version: int, **fields: Any) -> Any:
        client.says(frame(name, version, 7, **fields))
        meter.settle()
        _, response = message_of(name).read_response(version, client.heard()[-1])
        return response

    topic_id = prepare(ask, PARTITIONS)
    for _ in range(3):
        broker.loop.wait(1_500)
        beat = ask("share_group_heartbeat", 1, group_id="share", member_id="member", member_epoch=1)
    assert beat.assignment is None or beat.assignment.topic_partitions
    group = broker.cluster.coordinators[0].share_group(GROUPS["share"])
    assert group is not None
    ready = group.states.ready(topic_id)
    assert len(ready) == PARTITIONS
    return meter, topic_id


@pytest.mark.long
@pytest.mark.parametrize("api", APIS, ids=[api.name for api in APIS])
def test_touches_few_elements_between_yields(api: ApiSpec) -> None:
    meter, topic_id = prepared()
    changes_nothing = api.may_be_abandoned or api.name == "update_features"
    if changes_nothing:  # so a first request can do the imports, which are not measured
        for request in requests_of(api, topic_id, PARTITIONS, 1):
            meter.send(request.frame)
    too_many = []
    for request in requests_of(api, topic_id, PARTITIONS, ELEMENTS):
        meter.send(request.frame)
        allowed, _ = IN_ONE_PIECE.get(f"{request.name} {request.array}", (LINES_OF_AN_ELEMENT, ""))
        if meter.most > allowed * ELEMENTS:
            too_many.append(f"{request.title}: {meter.most} lines in one step: {meter.top_functions}")
    assert too_many == []


@cache
def titles() -> frozenset[str]:
    """List all long arrays, with their API."""
    requests = (request for api in APIS for request in requests_of(api, UUID(int=1), PARTITIONS, 40))
    return frozenset(f"{request.name} {request.array}" for request in requests)


def test_exceptions_name_arrays_that_exist() -> None:
    assert IN_ONE_PIECE.keys() <= titles()


def test_every_api_has_a_request() -> None:
    assert {title.partition(" ")[0] for title in titles()} == {api.name for api in APIS}
