"""The states of records in flight, and what an acknowledgement makes of them: the tables of KIP-932.

The numbers are those that are kept in `__share_group_state`. Source: Kafka's `RecordState`, `AcknowledgeType`.
"""

from typing import Final

AVAILABLE: Final = 0
ACQUIRED: Final = 1
"""A member holds the record. Never written down."""
ACKNOWLEDGED: Final = 2
ARCHIVED: Final = 4

NAMES: Final = {AVAILABLE: "available", ACQUIRED: "acquired", ACKNOWLEDGED: "acknowledged", ARCHIVED: "archived"}

IS_TERMINAL: Final = (False, False, True, False, True)
"""By state: whether the record is never delivered again."""

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
"""What a member says of a record: there is none at that offset, and so on."""

STATE_AFTER: Final = (ARCHIVED, ACKNOWLEDGED, AVAILABLE, ARCHIVED)
"""By what a member says of a record. RENEW changes nothing but for how long it is held."""

ACCEPTED, RELEASED, REJECTED, RENEWED = "accepted", "released", "rejected", "renewed"
NO_RECORD: Final = "gap"
FATE_AFTER: Final = ((None, NO_RECORD), (ACCEPTED, None), (RELEASED, None), (REJECTED, None), (RENEWED, None))
"""By what a member says of a record: its fate as it is told, and why it is archived if that is none."""

MOVES: Final = {
    AVAILABLE: frozenset({ACQUIRED, ARCHIVED}),
    ACQUIRED: frozenset({AVAILABLE, ACKNOWLEDGED, ARCHIVED}),
    ACKNOWLEDGED: frozenset[int](),
    ARCHIVED: frozenset[int](),
}
"""From each state those that may follow. What is being written down may fall back to ACQUIRED or AVAILABLE."""
