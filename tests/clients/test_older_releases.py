"""Groups of each library at a stand-in for each older release of Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kohort.protocol.releases import CURRENT, RELEASES
from tests.clients.company import Company
from tests.clients.serving import serving

OLDER = [release for release in RELEASES if release != CURRENT]
"""Releases between the first and the last are for `make deep`: tests/broker covers the behaviour of each release, and
conversations each version of each API.
"""


@pytest.fixture(
    params=[item if item in (OLDER[0], OLDER[-1]) else pytest.param(item, marks=pytest.mark.deep) for item in OLDER]
)
def company(request: pytest.FixtureRequest) -> Iterator[Company]:
    with serving(options=("--as-kafka", request.param)) as bootstrap:
        made = Company(bootstrap)
        yield made
        made.dissolve()


def test_members_join_and_leave(company: Company, library: str) -> None:
    sent = company.produce(10)
    ada, bob = company.join("ada", library), company.join("bob", library)
    company.until_shared_by(ada, bob)
    ada.stop()
    sent |= company.produce(10)
    company.until_shared_by(bob)
    company.until_consumed(sent, ada, bob)
