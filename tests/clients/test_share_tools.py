"""Kafka's own command-line tools, and its KafkaShareConsumer in one of them, with share groups (KIP-932)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest

from tests.clients.kafkas_own import command, said, table
from tests.clients.processes import Process
from tests.restarting import SERVE, kill, restart, start

pytestmark = [pytest.mark.libraries, pytest.mark.timeout(600), pytest.mark.usefixtures("kafkas_tools")]


def test_complete_share_group_lifecycle(bootstrap: str) -> None:
    name, group = f"topic-{uuid4().hex[:8]}", f"group-{uuid4().hex[:8]}"
    asked = ["--bootstrap-server", bootstrap]
    of_group = [*asked, "--group", group]
    said("kafka-configs", *of_group, "--alter", "--add-config", "share.auto.offset.reset=earliest")
    words = [f"word {number}" for number in range(20)]
    said("kafka-console-producer", *asked, "--topic", name, told="\n".join(words) + "\n")
    consuming = [*of_group, "--topic", name, "--timeout-ms", "30000"]
    heard = said("kafka-console-share-consumer", *consuming, "--max-messages", "20")
    assert heard.splitlines() == words
    (row,) = (item for item in table(said("kafka-groups", *asked, "--list", "--share")) if item["GROUP"] == group)
    assert (row["TYPE"], row["PROTOCOL"]) == ("Share", "share")
    (row,) = table(said("kafka-share-groups", *of_group, "--describe", "--state"))
    assert (row["STATE"], row["#MEMBERS"]) == ("Empty", "0")
    (row,) = table(said("kafka-share-groups", *of_group, "--describe", "--offsets"))
    assert (row["TOPIC"], row["PARTITION"], row["LAG"]) == (name, "0", "0")
    said("kafka-share-groups", *of_group, "--reset-offsets", "--topic", name, "--to-earliest", "--execute")
    (row,) = table(said("kafka-share-groups", *of_group, "--describe", "--offsets"))
    assert (row["START-OFFSET"], row["LAG"]) == ("0", "20")
    again = said("kafka-console-share-consumer", *consuming, "--max-messages", "20")
    assert again.splitlines() == words, "the group begins at the reset offset"
    assert "Successful" in said("kafka-share-groups", *of_group, "--delete-offsets", "--topic", name)
    assert "was successful" in said("kafka-share-groups", *of_group, "--delete")
    assert group not in said("kafka-share-groups", *asked, "--list").split()


def test_share_groups_are_a_feature(bootstrap: str) -> None:
    described = said("kafka-features", "--bootstrap-server", bootstrap, "describe")
    (line,) = [line for line in described.splitlines() if "share.version" in line]
    assert "FinalizedVersionLevel: 2" in line


@pytest.mark.parametrize("mode", ["batch_optimized", "record_limit"])
def test_churn_leaves_each_record_processed_once(bootstrap: str, mode: str) -> None:
    name, group = shared(bootstrap)
    told = said("SharingConsumers", bootstrap, name, group, mode, "20000", "4").splitlines()
    assert told[-4:] == ["done 20000", "unheard 0", "twice 0", "late 0"]
    assert lags(bootstrap, group) == ["0"] * 3


@pytest.mark.needs("our own broker")
def test_kills_leave_each_record_processed_once(tmp_path: Path) -> None:
    bootstrap = start(tmp_path, SERVE)
    name, group = shared(bootstrap)
    members = Process(command("SharingConsumers", bootstrap, name, group, "batch_optimized", "60000", "4"))
    try:
        for tenth in ("done 1/10", "done 3/10", "done 5/10"):
            members.until(partial(has_said, tenth), tenth)
            restart(tmp_path)
        members.until(partial(has_said, "late 0"), "all of it, and nothing late")
        assert {"done 60000", "twice 0"} <= {*members.lines}
        assert lags(bootstrap, group) == ["0"] * 3, "lost acknowledgements were written, or the records delivered again"
    finally:
        members.crash()
        kill(tmp_path)


def has_said(word: str, lines: list[str]) -> bool:
    return word in lines


def shared(bootstrap: str) -> tuple[str, str]:
    """Return a topic of three partitions, and a share group that reads it from its start."""
    name, group = f"topic-{uuid4().hex[:8]}", f"group-{uuid4().hex[:8]}"
    asked = ["--bootstrap-server", bootstrap]
    limits = "share.auto.offset.reset=earliest,share.delivery.count.limit=10"
    said("kafka-configs", *asked, "--group", group, "--alter", "--add-config", limits)
    said("kafka-topics", *asked, "--create", "--topic", name, "--partitions", "3")
    return name, group


def lags(bootstrap: str, group: str) -> list[str]:
    """Return the number of records of each partition that the group has not completed."""
    rows = table(
        said("kafka-share-groups", "--bootstrap-server", bootstrap, "--group", group, "--describe", "--offsets")
    )
    return [row["LAG"] for row in rows]
