"""SCRAM users in a data directory: there after the process was killed, and added while no broker runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kohort.cli.admin.add_scram import add_scram
from kohort.protocol.errors import ErrorCode
from kohort.protocol.messages.alter_user_scram_credentials import ScramCredentialDeletion, ScramCredentialUpsertion
from kohort.storage.disk.adding_users import add_users
from kohort.storage.disk.directory import DataDirectory
from kohort.storage.disk.ownership import DataDirectoryError
from tests.support.broker import Broker

ALICE = "SCRAM-SHA-256=[name=alice,password=alice-secret]"


def upsertion(name: str, mechanism: int = 1) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=4096, salt=b"\0salt\xff", salted_password=b"salted"
    )


def alters(broker: Broker, *upsertions: ScramCredentialUpsertion, gone: str = "") -> list[ErrorCode]:
    deletions = (ScramCredentialDeletion(name=gone, mechanism=1),) if gone else ()
    answer = broker.client().asks("alter_user_scram_credentials", 0, deletions=deletions, upsertions=upsertions)
    return [result.error_code for result in answer.results]


def users(broker: Broker) -> dict[str, list[tuple[int, int]]]:
    answer = broker.client().asks("describe_user_scram_credentials", 0, users=None)
    return {
        result.user: [(info.mechanism, info.iterations) for info in result.credential_infos]
        for result in answer.results
    }


def restarted(directory: DataDirectory) -> Broker:
    directory.abandon()
    return Broker(directory=DataDirectory(directory.path))


def test_users_survive_kill(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    broker = Broker(directory=directory)
    assert alters(broker, upsertion("alice"), upsertion("bob"), upsertion("ü,=")) == [ErrorCode.none] * 3
    assert alters(broker, upsertion("alice", 2)) == [ErrorCode.none]
    assert alters(broker, gone="bob") == [ErrorCode.none]
    before = broker.cluster.scram_credentials.of("alice")
    broker = restarted(directory)
    assert users(broker) == {"alice": [(1, 4096), (2, 4096)], "ü,=": [(1, 4096)]}
    assert broker.cluster.scram_credentials.of("alice") == before
    assert broker.cluster.directory is not None
    assert users(restarted(broker.cluster.directory)) == {"alice": [(1, 4096), (2, 4096)], "ü,=": [(1, 4096)]}


def test_no_password_is_in_the_file(tmp_path: Path) -> None:
    assert CliRunner().invoke(add_scram, [str(tmp_path), ALICE]).exit_code == 0
    assert b"alice-secret" not in (tmp_path / "topics.jsonl").read_bytes()


def test_adds_users_before_and_after_start(tmp_path: Path) -> None:
    result = CliRunner().invoke(add_scram, [str(tmp_path / "new"), ALICE])
    assert result.output == "alice can log in with SCRAM-SHA-256\n"
    directory = DataDirectory(tmp_path / "new")
    broker = Broker(directory=directory)
    broker.cluster.topics.create("orders", 1, 1)
    refused = CliRunner().invoke(add_scram, [str(tmp_path / "new"), ALICE])
    assert (refused.exit_code, "is in use by another broker" in refused.output) == (1, True)
    directory.abandon()
    assert CliRunner().invoke(add_scram, [str(tmp_path / "new"), ALICE.replace("alice,", "bob,")]).exit_code == 0
    broker = Broker(directory=DataDirectory(tmp_path / "new"))
    assert list(users(broker)) == ["alice", "bob"]
    assert broker.cluster.topics.by_name("orders") is not None


@pytest.mark.parametrize(("user", "code"), [("alice", 2), ("SCRAM-SHA-256=[name=a,password=very-secret,x=1]", 2)])
def test_rejects_invalid_user(tmp_path: Path, user: str, code: int) -> None:
    result = CliRunner().invoke(add_scram, [str(tmp_path), user])
    assert result.exit_code == code
    assert "very-secret" not in result.output


def test_rejects_directory_of_others(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(DataDirectoryError, match="contains other files"):
        add_users(tmp_path, [])
    with pytest.raises(DataDirectoryError, match="is a file"):
        add_users(tmp_path / "letter.txt", [])


@pytest.mark.parametrize(
    "values", ['{"scram":5}', '{"scram":"a","mechanism":1,"iterations":4096,"salt":"?"}', '{"scram":"a"}']
)
def test_reports_damaged_line(tmp_path: Path, values: str) -> None:
    (tmp_path / "topics.jsonl").write_text(values + "\n")
    with pytest.raises(DataDirectoryError, match=r"topics.jsonl, line 1, cannot be read"):
        DataDirectory(tmp_path)


def test_unwritable_change_has_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = DataDirectory(tmp_path)
    broker = Broker(directory=directory)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(directory, "scram_changed", full)
    assert alters(broker, upsertion("alice")) == [ErrorCode.kafka_storage_error]
    assert users(broker) == {}
