"""What members of groups with epochs do with offsets: commit, in a transaction too, and ask for them."""

from __future__ import annotations

from random import Random
from typing import Protocol

from tests.differential.making import make_version
from tests.differential.sequence import Step, request
from tests.talk.values import Value


class Cast(Protocol):
    """What stays the same through a sequence: here, where chance comes from."""

    random: Random


def commits(cast: Cast, person: str) -> list[Step]:
    """Commit with the current, an older, a newer or no epoch, as the member, anonymously or as an unknown one."""
    epoch = cast.random.choice((f"${person}_epoch",) * 4 + (1, 2, 3, -1))
    member = cast.random.choice((f"${person}",) * 6 + ("", "a-stranger"))
    fixed = {"group_id": "$group", "generation_id_or_member_epoch": epoch, "member_id": member}
    version = cast.random.choice((9, 10, 10, 8))
    return [make_version("OffsetCommit", version, cast.random, person, 0.03, group_instance_id=None, **fixed)]


def fetches_offsets(cast: Cast, person: str) -> list[Step]:
    version = cast.random.choice((9, 10))
    name = {"topic_id": "$topic_id"} if version >= 10 else {"name": "$topic"}
    member = cast.random.choice((None, f"${person}", f"${person}", "a-stranger"))
    group: Value = {"group_id": "$group", "member_id": member, "topics": [name | {"partition_indexes": [0, 1]}]}
    group["member_epoch"] = cast.random.choice((-1, f"${person}_epoch", f"${person}_epoch", 1, 99))
    return [request(person, "OffsetFetch", version, {"groups": [group], "require_stable": False})]


def commits_in_a_transaction(cast: Cast, person: str) -> list[Step]:
    """Create a producer and commit its offset in a transaction."""
    producer = {"transactional_id": "$txn", "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
    commit: dict[str, Value] = {
        "generation_id": cast.random.choice((f"${person}_epoch", f"${person}_epoch", -1, 99)),
        "member_id": cast.random.choice((f"${person}", f"${person}", "", "a-stranger")),
    }
    partitions = [{"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}]
    commit |= {"transactional_id": "$txn", "group_id": "$group", "producer_id": "$pid", "producer_epoch": "$epoch"}
    commit["topics"] = [{"name": "$topic", "partitions": partitions}]
    return [request(person, "InitProducerId", 5, producer), request(person, "TxnOffsetCommit", 5, commit)]
