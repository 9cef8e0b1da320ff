"""Adds users to a data directory that no broker uses. Its logs are not changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kohort.storage.disk.directory import BEFORE_META
from kohort.storage.disk.files import Disk
from kohort.storage.disk.journal import Journal, JournalError
from kohort.storage.disk.journal_lines import Saved, SavedScram
from kohort.storage.disk.ownership import META, DataDirectoryError, Lock, owner_of


def add_users(path: Path, users: Iterable[tuple[str, int, SavedScram]]) -> None:
    """Persist users: name, number of the mechanism, credential.

    Raises:
        DataDirectoryError: The directory cannot be used and is unchanged.
    """
    lock: Lock | None = None
    try:
        disk = Disk()
        if path.exists() and not path.is_dir():
            raise DataDirectoryError(f"{path} is a file; name a directory")
        disk.make_folder(path)
        owner_of(path, BEFORE_META)
        lock = Lock(path)
        journal = Journal(disk, path)
        saved = journal.read()
        if saved is None and (path / META).exists():
            raise DataDirectoryError(f"{path} has lost its topics.jsonl; see --restore-topics of `kohort serve`")
        saved = saved or Saved()
        for name, mechanism, scram in users:
            saved.scram[name, mechanism] = scram
        journal.begin(saved, starts=False)
        journal.close()
    except JournalError as problem:
        raise DataDirectoryError(str(problem)) from None
    except OSError as problem:
        raise DataDirectoryError(f"{problem.filename or path}: {problem.strerror or problem}") from None
    finally:
        if lock is not None:
            lock.release()
