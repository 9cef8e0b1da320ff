"""A client that is generated from `/openapi.json` controls the laboratory, next to an ordinary consumer."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer
from kafka.admin import KafkaAdminClient, NewTopic

from tests.clients.serving import serving

pytestmark = pytest.mark.needs("our own broker")

PACKAGE = "generated_for_kohort"


@pytest.fixture(scope="module")
def broker() -> Iterator[tuple[str, str]]:
    """Bootstrap address and control address."""
    with serving(options=("--control", ":0")) as ready:
        bootstrap, _, control = ready.partition(" control=")
        with closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
            admin.create_topics([NewTopic("orders", 6, 1)])
        yield bootstrap, control


@pytest.fixture(scope="module")
def generated(broker: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package that the generator makes; it must have nothing to complain of."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "config.yaml").write_text("post_hooks: []\n")
    # Fetched here: the generator waits for 5 s only.
    (folder / "openapi.json").write_text(httpx.get(f"http://{broker[1]}/openapi.json", timeout=120).text)
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", "openapi.json"]
    command += ["--meta", "none", "--fail-on-warning", "--config", "config.yaml", "--output-path", PACKAGE]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield folder / PACKAGE
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


class Misspelt(Enum):
    """A value that is not in the enumeration."""

    STABLE = "Stabel"


def part(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


def client_of(control: str) -> Any:
    """Return a client with a longer timeout than the 5 s of httpx, because the broker itself waits for the group."""
    return part("client").Client(base_url=f"http://{control}", timeout=httpx.Timeout(120))


def operation(subject: str, name: str) -> Any:
    return part(f"api.{subject}.{subject}_{name}")


def test_every_operation_is_there(generated: Path) -> None:
    found = {path.stem for path in (generated / "api").glob("*/*.py")} - {"__init__"}
    assert {
        "clock_advance",
        "topics_create",
        "faults_add",
        "groups_wait",
        "gates_release",
        "nodes_stop_node",
        "events_stream",
        "events_past",
        "topics_records",
        "groups_commit",
        "faults_freeze",
    } <= found


def test_words_are_enumerations(generated: Path) -> None:
    models = part("models")
    assert models.HoldName("join-complete") in set(models.HoldName)
    assert {item.value for item in models.GroupStateState} >= {"Stable", "Reconciling", "Unknown"}
    assert "session_expired" in {item.value for item in models.EventRowCause}
    assert "rebalance_started" in {item.value for item in models.EventRowKind}


def test_generated_client_controls_broker(generated: Path, broker: tuple[str, str]) -> None:
    bootstrap, control = broker
    client, models = client_of(control), part("models")
    ada = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "billing", "client.id": "ada", "heartbeat.interval.ms": 100}
    )
    ada.subscribe(["orders"])
    try:
        while not ada.assignment():
            ada.poll(0.05)
        group = operation("groups", "wait").sync("billing", client=client, members=1, member="ada")
        assert isinstance(group, models.GroupState)
        assert [member.partitions["orders"] for member in group.members] == [[0, 1, 2, 3, 4, 5]]

        match = models.NewRuleMatch(group="billing", client_id="ada")
        hold = models.NewRule(match=match, do=models.NewRuleDo.HOLD)
        rule = operation("faults", "add").sync(client=client, body=hold)
        assert isinstance(rule, models.RuleState)
        clock = operation("clock", "advance").sync(client=client, body=models.Jump(seconds=46.0))
        assert isinstance(clock, models.AfterJump)
        assert clock.now_ms >= 46_000
        assert operation("groups", "read").sync("billing", client=client).members == []
        history = operation("groups", "history").sync("billing", client=client)
        assert [rebalance.cause for rebalance in history] == ["join new", "session expired"]
        operation("faults", "remove").sync_detailed(rule.number, client=client)
    finally:
        ada.close()


def test_refusals_are_values_too(generated: Path, broker: tuple[str, str]) -> None:
    client, models = client_of(broker[1]), part("models")
    missing = operation("groups", "read").sync("missing", client=client)
    assert isinstance(missing, models.Problem)
    assert missing.detail == "group missing does not exist or has no coordinator"
    late = operation("groups", "wait").sync("missing", client=client, timeout=0.01)
    assert isinstance(late, models.Problem)
    delay = models.NewRule(do=models.NewRuleDo.DELAY, with_=models.NewRuleWith(until=Misspelt.STABLE))
    wrong = operation("faults", "add").sync(client=client, body=delay)
    assert isinstance(wrong, models.Problem)
    assert "did you mean Stable?" in wrong.detail
