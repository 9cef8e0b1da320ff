"""Groups of each library at a stand-in for each older release of Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kohort.protocol.releases import CURRENT, RELEASES
from tests.clients.company import Company
from tests.clients.serving import serving

OLDER = [release for release in RELEASES if release != CURRENT]
"""Those between the first and the last are for `make deep`: tests/broker has what each release offers and does, and
conversations have each version of each API."""


@pytest.fixture(
    params=[each if each in (OLDER[0], OLDER[-1]) else pytest.param(each, marks=pytest.mark.deep) for each in OLDER]
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
