"""SCRAM credentials, stored in the data directory. Loaded at the first SCRAM login, or when one is altered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.security.sasl.scram import ScramCredential, ScramMechanism
from kohort.security.scram_credentials import NUMBERS, ScramCredentials
from kohort.storage.disk.journal_lines import SavedScram

if TYPE_CHECKING:
    from kohort.storage.disk.directory import DataDirectory


def kept_credentials(directory: DataDirectory | None) -> ScramCredentials:
    """Return the credentials in the data directory, where changes are stored; without one they are in memory."""
    if directory is None:
        return ScramCredentials()

    def keep(user: str, mechanism: int, credential: ScramCredential | None) -> None:
        directory.scram_changed(user, mechanism, None if credential is None else SavedScram(*credential))

    credentials = ScramCredentials(keep)
    for (user, mechanism), saved in directory.saved.scram.items():
        if mechanism in NUMBERS:
            credentials.load(user, ScramMechanism(mechanism), ScramCredential(*saved))
    return credentials
