"""Batches that no producer should send are answered as Kafka 4.3.0 answers them, and stored as it stores them."""

from __future__ import annotations

import pytest

from tests.storage.odd_batches import CASES, TOPICS, answers, in_words, stored_in_words
from tests.support.broker import Broker
from tests.support.data_requests import NOW_MS, fetch, given_topic, production

DIFFERENT = {
    "nothing at all": (
        {"error": "invalid_record", "tells log start": False, "message": None, "records": []},
        "Kafka fails while it logs the request, and never answers",
    ),
}
"""Kohort's response where it differs from Kafka's, with the reason."""


@pytest.mark.parametrize("name", CASES)
def test_kafkas_answers(name: str) -> None:
    case = CASES[name]
    ada = Broker().client()
    given_topic(ada, case.topic, 1, **{key.replace(".", "_"): value for key, value in TOPICS[case.topic].items()})
    sent = case.records(NOW_MS)
    response = ada.asks("produce", case.version, **production(sent, case.topic, acks=case.acks))
    part = response.responses[0].partition_responses[0]
    description = in_words(part)
    if not part.error_code:
        assert sent is not None
        fetched = fetch(ada, (case.topic, 0, part.base_offset))
        data = b"".join(fetched.responses[0].partitions[0].records or ())
        description["stored"] = stored_in_words(data, part.base_offset, sent, NOW_MS)
    expected = DIFFERENT[name][0] if name in DIFFERENT else answers()[name]
    assert description == expected


def test_cases_match_answers() -> None:
    assert list(answers()) == list(CASES)


def test_known_differences_still_exist() -> None:
    assert all(answers()[name] != said for name, (said, _) in DIFFERENT.items())
