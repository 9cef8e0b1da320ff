"""What `with Proxy(…)` hands out, for type checkers and editors; see sync.py.

Made by `python -m tests.testing.twin`; a test compares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kohort.control.gates import Gates
    from kohort.testing.sync_faults import SyncFaults


class SyncProxy(Protocol):
    """`Proxy`, whose every word waits for its end."""

    @property
    def bootstrap(self) -> str:
        """What clients call `bootstrap.servers`."""
        ...

    def client_config(
        self, user: str = "alice", *, library: str = "confluent-kafka", mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        """What a client needs to come in, in the words of its `library`, as of `Cluster.client_config`.

        It is the address alone, whoever comes: clients speak plainly. A login that is passed on is theirs to add.
        """
        ...

    @property
    def nodes(self) -> list[int]:
        """The ids of the brokers that clients have heard of."""
        ...

    @property
    def faults(self) -> SyncFaults:
        """Rules that spoil requests."""
        ...

    @property
    def gates(self) -> Gates:
        """Stops at which requests wait for the test."""
        ...
