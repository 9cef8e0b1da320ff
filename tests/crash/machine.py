"""A broker and the disk under it, which may fail or be damaged."""

from __future__ import annotations

from pathlib import Path

from kohort.protocol.errors import ErrorCode as E
from kohort.whatif.clients.group_member import to_commit
from tests.crash.disk import FaultyDisk
from tests.crash.life import Life, process_is_gone
from tests.crash.looking import fetches
from tests.support.batches import batch, contents
from tests.support.data_requests import given_topic, production

T = "t"


class Machine:
    """A broker, and the disk under it."""

    def __init__(self, folder: Path, fsync: str = "never") -> None:
        self.path = folder.resolve() / "data"
        self.fsync = fsync
        self.disk = FaultyDisk(folder.resolve(), keeps_unsynced=fsync != "never")
        self.life = Life(self.path, self.disk, fsync)

    def starts_again(self, *, in_peace: bool = False) -> None:
        if in_peace:
            self.life.directory.close()
        process_is_gone(self.path)
        self.disk = self.disk.reborn()
        self.life = Life(self.path, self.disk, self.fsync, seed=2, at_ms=self.life.wall_ms)

    def creates(self, name: str = T, **configs: str) -> None:
        given_topic(self.life.client(), name, 1, **configs)

    def produces(self, *values: bytes, name: str = T) -> E:
        answer = self.life.hears("produce", 9, **production(batch(*values), name))
        error: E = answer.responses[0].partition_responses[0].error_code
        return error

    def values(self, name: str = T, start: int = 0) -> list[bytes | None]:
        parts = fetches(self.life, name, 0, start)
        return [value for part in parts for at, _, value in contents(list(part.records)) if at >= start]

    def commits(self, offset: int, group: str = "g") -> E:
        answer = self.life.hears("offset_commit", 8, group_id=group, member_id="", topics=to_commit(T, {0: offset}))
        error: E = answer.topics[0].partitions[0].error_code
        return error

    def looks_for_coordinators(self) -> None:
        for key_type in (0, 1):
            self.life.hears("find_coordinator", 1, coordinator_keys=("x",), key_type=key_type)
            self.life.wait(1)
            self.life.settle()

    @property
    def segments(self) -> list[Path]:
        return sorted((self.path / f"{T}-0").glob("*.log"))


def no_failure(what: str, path: Path) -> None:
    pass
