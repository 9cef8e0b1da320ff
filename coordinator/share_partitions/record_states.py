"""States of in-flight records and the effect of acknowledgements: the tables of KIP-932.

The numbers are those in `__share_group_state`. Source: Kafka's `RecordState`, `AcknowledgeType`.
"""

from typing import Final

AVAILABLE: Final = 0
ACQUIRED: Final = 1  # never written to the log
ACKNOWLEDGED: Final = 2
ARCHIVING: Final = 3  # until the dead letter is written (KIP-1191)
ARCHIVED: Final = 4

NAMES: Final = {
    AVAILABLE: "available",
    ACQUIRED: "acquired",
    ACKNOWLEDGED: "acknowledged",
    ARCHIVING: "archiving",
    ARCHIVED: "archived",
}

IS_TERMINAL: Final = (False, False, True, False, True)  # by state: whether the record is never delivered again

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4  # acknowledge types

STATE_AFTER: Final = (ARCHIVED, ACKNOWLEDGED, AVAILABLE, ARCHIVED)  # by acknowledge type; RENEW only extends the lock

ACCEPTED, RELEASED, REJECTED, RENEWED = "accepted", "released", "rejected", "renewed"
NO_RECORD: Final = "gap"
# by acknowledge type: the reported fate, and the reason for archiving the record without one
FATE_AFTER: Final = ((None, NO_RECORD), (ACCEPTED, None), (RELEASED, None), (REJECTED, None), (RENEWED, None))

# the allowed transitions; a failed write also restores ACQUIRED or AVAILABLE
MOVES: Final = {
    AVAILABLE: frozenset({ACQUIRED, ARCHIVED}),
    ACQUIRED: frozenset({AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED}),
    ACKNOWLEDGED: frozenset[int](),
    ARCHIVING: frozenset({ARCHIVED}),
    ARCHIVED: frozenset[int](),
}
