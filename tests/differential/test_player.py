"""The player's parts, without any broker."""

from pathlib import Path

import pytest

from tests.differential.comparing import Difference, Mapping, compare
from tests.differential.kinds import KINDS, make_sequence
from tests.differential.known import KNOWN, reason_for
from tests.differential.playing import Outcome, Said
from tests.differential.sequence import Steps, request, topic
from tests.differential.shrinking import shrink
from tests.differential.writing import lines_of
from tests.talk.script import read_steps
from tests.talk.values import Value

ONE, OTHER = "0b5a8d4e-1f0c-4c6e-9d2a-111111111111", "7c3e9a10-2b4d-4f5e-8a6b-222222222222"


@pytest.mark.parametrize("kind", KINDS)
def test_seed_determines_sequence(kind: str) -> None:
    assert make_sequence(kind, 7) == make_sequence(kind, 7)
    assert make_sequence(kind, 7) != make_sequence(kind, 8)


def test_ids_may_differ_consistently() -> None:
    mapping = Mapping()
    assert not compare("JoinGroup", {"member_id": f"ada-{ONE}"}, {"member_id": f"ada-{OTHER}"}, mapping)
    assert not compare("Heartbeat", {"member_id": f"ada-{ONE}"}, {"member_id": f"ada-{OTHER}"}, mapping)
    assert compare("Heartbeat", {"member_id": f"ada-{ONE}"}, {"member_id": f"ada-{ONE}"}, mapping)
    assert compare("Heartbeat", {"member_id": f"ada-{ONE}"}, {"member_id": f"bob-{OTHER}"}, mapping)


def test_non_numbers_are_unchanged() -> None:
    assert not compare("InitProducerId", {"producer_id": 17}, {"producer_id": 4}, Mapping())
    assert compare("InitProducerId", {"producer_id": 17}, {"producer_id": -1}, Mapping())
    assert compare("Fetch", {"session_id": 0}, {"session_id": 12}, Mapping())


def test_lists_are_compared_whatever_their_order() -> None:
    one, two = {"name": "a", "error_code": "NONE"}, {"name": "b", "error_code": "NONE"}
    assert not compare("Metadata", {"topics": [one, two]}, {"topics": [two, one]}, Mapping())
    (difference,) = compare("Metadata", {"topics": [one, two]}, {"topics": [two | {"error_code": "X"}, one]}, Mapping())
    assert (difference.path, difference.kafka, difference.kohort) == ("topics[].error_code", "NONE", "X")
    (fewer,) = compare("Metadata", {"topics": [one]}, {"topics": [one, one]}, Mapping())
    assert fewer.signature == "Metadata topics[]: fewer at Kafka"


def test_field_sent_once_differs() -> None:
    assert compare("Fetch", {"tag_7": "x"}, {}, Mapping())
    assert compare("Fetch", {}, {"tag_7": "x"}, Mapping())


async def test_shrinking_keeps_only_the_difference() -> None:
    steps = [request("ada", "Heartbeat", 4, {"group_id": f"g{number}", "member_id": "m"}) for number in range(20)]
    played = 0

    async def still_differs(candidate: Steps) -> bool:
        nonlocal played
        played += 1
        asked = [step.values.get("group_id") for step in candidate]
        return "g3" in asked and "g17" in asked[asked.index("g3") :]

    short = await shrink(steps, still_differs)
    assert [step.values for step in short] == [{"group_id": "g3"}, {"group_id": "g17"}]
    assert played <= 120


async def test_shrinking_has_a_limit() -> None:
    steps = [request("ada", "Heartbeat", 4, {"group_id": str(number)}) for number in range(50)]
    tried = 0

    async def still_differs(candidate: Steps) -> bool:
        nonlocal tried
        tried += 1
        return len(candidate) > 40

    await shrink(steps, still_differs, tries=10)
    assert tried <= 10


def test_written_sequence_can_be_played() -> None:
    asked = request("ada", "JoinGroup", 9, {"group_id": "$group", "protocols": [{"name": "range", "metadata": "m"}]})
    heard = {"throttle_time_ms": 0, "error_code": "MEMBER_ID_REQUIRED", "member_id": f"ada-{ONE}"}
    names = {"group": "group-1-x", "ada": f"ada-{ONE}"}
    said = [Said(0, topic("topic", 2), {}, frozenset()), Said(1, asked, {1: heard}, frozenset())]
    difference = Difference("JoinGroup", "error_code", "MEMBER_ID_REQUIRED", "NONE")
    lines = lines_of(difference, "a test", Outcome(said, [difference], [], dict(names)))
    told, spoken, answer = read_steps(Path("x.talk"), lines)
    assert (told.kind, spoken.kind, answer.kind) == ("topic", "request", "answer")
    assert answer.words["error"] == "MEMBER_ID_REQUIRED"
    assert answer.values == {"member_id": "$ada"}


def test_known_differences_have_reasons() -> None:
    assert all(len(known.reason.split()) > 5 for known in KNOWN)
    assert reason_for(Difference("Heartbeat", "error_code", "NONE", "UNKNOWN_MEMBER_ID")) is None
    owned = "Static member a with instance id i1 cannot join the group because the instance id is owned by {} member."
    assert reason_for(Difference("ConsumerGroupHeartbeat", "error_message", owned.format("bob-member"), None)) is None
    assert reason_for(Difference("ConsumerGroupHeartbeat", "error_message", owned.format("nobody"), None))


def test_settings_are_compared_by_resource() -> None:
    def told(resource_type: int, *settings: tuple[str, str | None]) -> Value:
        configs = [{"name": name, "value": value, "read_only": False} for name, value in settings]
        return {"results": [{"resource_type": resource_type, "configs": configs}]}

    def unknown(kafka: Value, kohort: Value) -> list[str]:
        differences = compare("DescribeConfigs", kafka, kohort, Mapping())
        return [difference.path for difference in differences if reason_for(difference) is None]

    rack, more = ("broker.rack", None), ("zookeeper.connect", "x")
    assert unknown(told(4, rack, ("log.dirs", "/tmp")), told(4, ("kohort.request.max.elements", "1"), rack)) == []
    assert unknown(told(4, rack), told(4, ("broker.rack", ""))) == ["results[type 4].configs[broker.rack].value"]
    assert unknown(told(4, rack, more), told(4, rack)) == ["results[type 4].configs[zookeeper.connect]"]
    assert unknown(told(2, ("retention.ms", "1")), told(2)) == ["results[type 2].configs[retention.ms]"]


def test_known_difference_covers_named_resources_only() -> None:
    def refused(resource_type: int, error_code: str) -> Value:
        return {"responses": [{"resource_type": resource_type, "error_code": error_code}]}

    def reason(resource_type: int, kafka: str, kohort: str) -> str | None:
        answers = refused(resource_type, kafka), refused(resource_type, kohort)
        (difference,) = compare("AlterConfigs", *answers, Mapping())
        return reason_for(difference)

    assert reason(4, "INVALID_REQUEST", "NONE") is not None
    assert reason(2, "INVALID_REQUEST", "NONE") is None
    assert reason(16, "NONE", "INVALID_REQUEST") is not None
    assert reason(32, "NONE", "INVALID_REQUEST") is None
