"""Reloading of a JWKS file that changes while the broker runs, because issuers rotate their keys.

Kafka reloads its document every `sasl.oauthbearer.jwks.endpoint.refresh.ms`. Here a login checks whether the file has
changed. A document from http is read once, when the broker starts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kohort.base.logs import log
from kohort.broker.settings.setting import SettingError
from kohort.security.sasl.signed_tokens import KeysError

if TYPE_CHECKING:
    from kohort.security.sasl.oauthbearer import Token, TokenValidator

_Stamp = tuple[int, int, int]


class ChangingKeys:
    """A `TokenValidator` that is recreated when its file has changed. An invalid file is ignored."""

    def __init__(self, path: Path, make: Callable[[], TokenValidator]) -> None:
        """Load the keys.

        Args:
            make: Reads the file. Raises SettingError or KeysError.
        """
        self._path = path
        self._make = make
        self._stamp = self._stamp_now()
        self._tokens = make()

    def token(self, text: str, wall_ms: int) -> Token:
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._tokens = self._make()
            except (KeysError, SettingError) as error:
                log.warning(f"{self._path} has changed and cannot be used; the previous keys stay valid: {error}")
        return self._tokens.token(text, wall_ms)

    def _stamp_now(self) -> _Stamp | None:
        """Return a value that identifies the state of the file, or None if it does not exist."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
