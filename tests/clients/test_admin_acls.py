"""`kohort admin acls` at clusters with an authorizer, let in by `--command-config` as Kafka's tools are."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka.admin import AdminClient

from kohort.broker.settings.broker_settings import STANDARD_AUTHORIZER
from kohort.cli.commands import main
from kohort.testing import Cluster, SyncCluster

pytestmark = pytest.mark.timeout(300)

ANSWER_S = 60


class Administrator:
    """Runs `kohort admin acls` as a user of the cluster's."""

    def __init__(self, kafka: SyncCluster, user: str, folder: Path) -> None:
        config = kafka.client_config(user, library="java")
        file = folder / f"{user}.properties"
        file.write_text("".join(f"{name}={config[name]}\n" for name in config if name != "bootstrap.servers"))
        self._at = ["--bootstrap", kafka.bootstrap, "--command-config", str(file)]

    def __call__(self, command: str, *words: str, told: str = "") -> Result:
        return CliRunner().invoke(main, ["admin", "acls", command, *self._at, *words], input=told)

    def said(self, command: str, *words: str, told: str = "") -> list[str]:
        done = self(command, *words, told=told)
        assert done.exit_code == 0, done.output
        return done.stdout.splitlines()


def topics_seen(kafka: SyncCluster, user: str) -> set[str]:
    return set(AdminClient(kafka.client_config(user)).list_topics(timeout=ANSWER_S).topics)


def test_rights_are_given_shown_and_taken_away(tmp_path: Path) -> None:
    reads = "User:alice from *: ALLOW READ on TOPIC:PREFIXED:ord"
    denied = "User:bob from 10.0.0.1: DENY ALL on GROUP:LITERAL:billing"
    with Cluster(security="SASL_SSL", settings={"authorizer.class.name": STANDARD_AUTHORIZER}) as kafka:
        kafka.topics.create("orders")
        admin = Administrator(kafka, "admin", tmp_path)
        assert admin.said("list") == []
        assert "orders" not in topics_seen(kafka, "alice")

        prefix = ["--topic", "ord", "--resource-pattern-type", "prefixed"]
        right = ["--allow-principal", "User:alice", "--operation", "Read"]
        assert admin.said("add", *prefix, *right) == [f"added {reads}"]
        bob = ["--group", "billing", "--deny-principal", "User:bob", "--deny-host", "10.0.0.1"]
        assert admin.said("add", *bob) == [f"added {denied}"]
        assert "orders" in topics_seen(kafka, "alice")
        assert admin.said("list") == [reads, denied]
        assert admin.said("list", "--principal", "User:bob") == [denied]
        assert admin.said("list", "--topic", "orders") == []
        assert admin.said("list", "--topic", "orders", "--resource-pattern-type", "match") == [reads]

        kept = admin("remove", *prefix, told="n\n")
        assert (kept.exit_code, kept.stdout) == (1, "")
        assert f"{reads}\nRemove this ACL?" in kept.stderr
        assert admin.said("remove", *prefix, *right, told="y\n") == [f"removed {reads}"]
        assert "orders" not in topics_seen(kafka, "alice")
        again = admin("remove", *prefix, *right, "--force")
        assert (again.exit_code, again.output) == (0, "there are no such ACLs\n")
        assert admin.said("remove", "--group", "billing", "--force") == [f"removed {denied}"]
        assert len(kafka.acls) == 0
        with kafka.acls.allow("User:a\x1b[2J", topic="orders"):
            assert admin.said("list") == ["User:a\\u001b[2J from *: ALLOW ALL on TOPIC:LITERAL:orders"]


def test_who_may_not_is_told_what_is_needed(tmp_path: Path) -> None:
    right = ["--topic", "orders", "--allow-principal", "User:alice"]
    refusal = "kohort: CLUSTER_AUTHORIZATION_FAILED: to list ACLs a user needs DESCRIBE on the cluster, to change them "
    with Cluster(security="SASL_SSL", settings={"authorizer.class.name": STANDARD_AUTHORIZER}) as kafka:
        bob = Administrator(kafka, "bob", tmp_path)
        for words in (["list"], ["add", *right], ["remove", *right], ["remove", *right, "--force"]):
            refused = bob(*words)
            assert (refused.exit_code, refused.output) == (1, f"{refusal}ALTER\n")
        assert len(kafka.acls) == 0
        plain = CliRunner().invoke(main, ["admin", "acls", "list", "--bootstrap", kafka.bootstrap])
        assert (plain.exit_code, plain.stdout) == (1, "")
        assert "it wants TLS; give --command-config FILE" in plain.stderr


def test_a_cluster_without_an_authorizer_says_so() -> None:
    with Cluster() as kafka:
        refused = CliRunner().invoke(main, ["admin", "acls", "list", "--bootstrap", kafka.bootstrap])
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "SECURITY_DISABLED: the brokers keep no ACLs" in refused.stderr
