"""All libraries in one group use range, and agree on the owners."""

from __future__ import annotations

from kohort.demo.libraries import LIBRARIES
from tests.clients.company import Company


def test_three_libraries_share_a_group(company: Company) -> None:
    sent = company.produce(10)
    members = {library: company.join(library, library) for library in LIBRARIES}
    company.until_shared_by(*members.values())
    company.until_consumed(sent, *members.values())

    crashed = members.pop("aiokafka")
    crashed.crash()
    company.until_shared_by(*members.values())
    left = members.pop("kafka-python")
    left.stop()
    company.until_shared_by(*members.values())

    members["aiokafka"] = company.join("aiokafka", "aiokafka")
    company.until_shared_by(*members.values())
    sent = company.produce(10)
    company.until_consumed(sent, *members.values())
