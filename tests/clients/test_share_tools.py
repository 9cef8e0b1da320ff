"""Kafka's own command-line tools, and its KafkaShareConsumer in one of them, with share groups (KIP-932)."""

from __future__ import annotations

from uuid import uuid4

import pytest

from tests.clients.kafkas_own import said, table

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(600), pytest.mark.usefixtures("kafkas_tools")]


def test_a_share_group_from_its_first_record_to_its_end(bootstrap: str) -> None:
    name, group = f"topic-{uuid4().hex[:8]}", f"group-{uuid4().hex[:8]}"
    asked = ["--bootstrap-server", bootstrap]
    of_group = [*asked, "--group", group]
    said("kafka-configs", *of_group, "--alter", "--add-config", "share.auto.offset.reset=earliest")
    words = [f"word {number}" for number in range(20)]
    said("kafka-console-producer", *asked, "--topic", name, told="\n".join(words) + "\n")
    consuming = [*of_group, "--topic", name, "--timeout-ms", "30000"]
    heard = said("kafka-console-share-consumer", *consuming, "--max-messages", "20")
    assert heard.splitlines() == words
    (row,) = table(said("kafka-groups", *asked, "--list", "--share"))
    assert (row["GROUP"], row["TYPE"], row["PROTOCOL"]) == (group, "Share", "share")
    (row,) = table(said("kafka-share-groups", *of_group, "--describe", "--state"))
    assert (row["STATE"], row["#MEMBERS"]) == ("Empty", "0")
    (row,) = table(said("kafka-share-groups", *of_group, "--describe", "--offsets"))
    assert (row["TOPIC"], row["PARTITION"], row["LAG"]) == (name, "0", "0")
    said("kafka-share-groups", *of_group, "--reset-offsets", "--topic", name, "--to-earliest", "--execute")
    (row,) = table(said("kafka-share-groups", *of_group, "--describe", "--offsets"))
    assert (row["START-OFFSET"], row["LAG"]) == ("0", "20")
    again = said("kafka-console-share-consumer", *consuming, "--max-messages", "20")
    assert again.splitlines() == words, "the group begins where it was told to"
    assert "Successful" in said("kafka-share-groups", *of_group, "--delete-offsets", "--topic", name)
    assert "was successful" in said("kafka-share-groups", *of_group, "--delete")
    assert group not in said("kafka-share-groups", *asked, "--list").split()


def test_share_groups_are_a_feature(bootstrap: str) -> None:
    described = said("kafka-features", "--bootstrap-server", bootstrap, "describe")
    (line,) = [line for line in described.splitlines() if "share.version" in line]
    assert "FinalizedVersionLevel: 1" in line


@pytest.mark.parametrize("mode", ["batch_optimized", "record_limit"])
def test_every_record_is_done_with_once_whoever_comes_and_goes(bootstrap: str, mode: str) -> None:
    name, group, count = f"topic-{uuid4().hex[:8]}", f"group-{uuid4().hex[:8]}", 20_000
    asked = ["--bootstrap-server", bootstrap]
    limits = "share.auto.offset.reset=earliest,share.delivery.count.limit=10"
    said("kafka-configs", *asked, "--group", group, "--alter", "--add-config", limits)
    said("kafka-topics", *asked, "--create", "--topic", name, "--partitions", "3")
    told = said("SharingConsumers", bootstrap, name, group, mode, str(count), "4")
    heard = dict(line.split(" ", 1) for line in told.splitlines())
    assert int(heard.pop("accepted")) + int(heard.pop("rejected")) == count
    assert heard == {"twice": "0", "late": "0"}
