"""The keys of a JWKS file that is replaced while the broker runs: whoever issues tokens changes its keys now and then.

Kafka reads its document again every `sasl.oauthbearer.jwks.endpoint.refresh.ms`. Here a login looks whether the file is
another one. A document that came over http is read once, when the broker starts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kohort.broker.logs import log
from kohort.broker.settings.setting import SettingError
from kohort.security.sasl.signed_tokens import KeysError

if TYPE_CHECKING:
    from kohort.security.sasl.oauthbearer import Token, TokenValidator

_Stamp = tuple[int, int, int]


class ChangingKeys:
    """A `TokenValidator` that makes itself anew when its file has changed. One that cannot be used changes nothing."""

    def __init__(self, path: Path, make: Callable[[], TokenValidator]) -> None:
        """`make`: reads the file. Raises SettingError or KeysError."""
        self._path = path
        self._make = make
        self._stamp = self._stamp_now()
        self._tokens = make()

    def token(self, text: str, wall_ms: int) -> Token:
        """See `TokenValidator`."""
        stamp = self._stamp_now()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._tokens = self._make()
            except (KeysError, SettingError) as problem:
                log.warning(f"{self._path} has changed and cannot be used, so its former keys count: {problem}")
        return self._tokens.token(text, wall_ms)

    def _stamp_now(self) -> _Stamp | None:
        """What tells one state of the file from another; None: it is not there."""
        try:
            stat = self._path.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino
