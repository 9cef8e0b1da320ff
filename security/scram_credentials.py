"""SCRAM users of a cluster and their stored credentials.

Source: Kafka's `ScramControlManager` and `ScramImage`; logins.md §7.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import NamedTuple

from kohort.protocol.errors import ErrorCode
from kohort.security.sasl.scram import (
    MAX_ITERATIONS,
    MIN_ITERATIONS,
    ScramCredential,
    ScramMechanism,
    credential_of,
)

# Persists a user's credential of a mechanism, by its number, or its removal. Raises OSError.
Keep = Callable[[str, int, ScramCredential | None], None]


class Deletion(NamedTuple):
    """A credential to remove. `mechanism` is the protocol number, which can be invalid."""

    name: str
    mechanism: int


class Upsertion(NamedTuple):
    """A credential to create or replace."""

    name: str
    mechanism: int
    iterations: int
    salt: bytes
    salted_password: bytes


class CredentialRefusal(NamedTuple):
    """Why a user's credentials were not changed."""

    error_code: ErrorCode
    message: str


NUMBERS = frozenset(mechanism.value for mechanism in ScramMechanism)  # mechanisms by protocol number

_TWICE = CredentialRefusal(
    ErrorCode.duplicate_resource, "A user credential cannot be altered twice in the same request"
)


class ScramCredentials:
    """Credentials by user and mechanism."""

    def __init__(self, keep: Keep | None = None) -> None:
        """Create an empty table.

        Args:
            keep: Persists changes before they take effect; in memory if None.
        """
        self._keep = keep
        self._by_user: dict[str, dict[ScramMechanism, ScramCredential]] = {}

    def users(self) -> list[str]:
        return list(self._by_user)

    def of(self, user: str) -> Mapping[ScramMechanism, ScramCredential]:
        """Return a user's credentials, possibly none."""
        return self._by_user.get(user, {})

    def find(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        return self.of(user).get(mechanism)

    def load(self, user: str, mechanism: ScramMechanism, credential: ScramCredential) -> None:
        """Add a persisted credential."""
        self._by_user.setdefault(user, {})[mechanism] = credential

    def put(self, user: str, mechanism: ScramMechanism, credential: ScramCredential | None) -> None:
        """Set or remove a user's credential.

        Raises:
            OSError: It cannot be stored, and nothing has changed.
        """
        if self._keep is not None:
            self._keep(user, mechanism.value, credential)
        if credential is not None:
            self.load(user, mechanism, credential)
            return
        mechanisms = self._by_user.get(user, {})
        mechanisms.pop(mechanism, None)
        if not mechanisms:
            self._by_user.pop(user, None)

    def alter(
        self, deletions: Iterable[Deletion], upsertions: Iterable[Upsertion]
    ) -> Generator[None, None, dict[str, CredentialRefusal | None]]:
        """Apply the valid changes, yield after each, and return the error, or None, for each user.

        A user that is named twice is rejected, even for different mechanisms.

        Raises:
            OSError: A change cannot be stored.
        """
        refused: dict[str, CredentialRefusal] = {}
        accepted: dict[str, Deletion | Upsertion] = {}
        changes: list[Deletion | Upsertion] = [*deletions, *upsertions]
        for change in changes:
            yield
            if change.name in refused:
                continue
            if accepted.pop(change.name, None) is not None:
                refused[change.name] = _TWICE
                continue
            problem = self._problem(change)
            if problem is None:
                accepted[change.name] = change
            else:
                refused[change.name] = problem
        for change in accepted.values():
            self._apply(change)
            yield
        return {**refused, **dict.fromkeys(accepted)}

    def _problem(self, change: Deletion | Upsertion) -> CredentialRefusal | None:
        if not change.name:
            return CredentialRefusal(ErrorCode.unacceptable_credential, "Username must not be empty")
        if change.mechanism not in NUMBERS:
            return CredentialRefusal(ErrorCode.unsupported_sasl_mechanism, "Unknown SCRAM mechanism")
        if isinstance(change, Upsertion):
            if change.iterations < MIN_ITERATIONS:
                return CredentialRefusal(ErrorCode.unacceptable_credential, "Too few iterations")
            if change.iterations > MAX_ITERATIONS:
                return CredentialRefusal(ErrorCode.unacceptable_credential, "Too many iterations")
        elif self.find(ScramMechanism(change.mechanism), change.name) is None:
            return CredentialRefusal(
                ErrorCode.resource_not_found, "Attempt to delete a user credential that does not exist"
            )
        return None

    def _apply(self, change: Deletion | Upsertion) -> None:
        mechanism, credential = ScramMechanism(change.mechanism), None
        if isinstance(change, Upsertion):
            credential = credential_of(mechanism, change.salted_password, change.salt, change.iterations)
        self.put(change.name, mechanism, credential)
