"""What happens to the records of share partitions, as an observer hears of it. None decides anything by it."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kohort.coordinator.share_partitions.in_flight import InFlight
from kohort.coordinator.share_partitions.record_states import ARCHIVED, REJECTED
from kohort.coordinator.share_state.share_partition_key import SharePartitionKey

EXPIRED: Final = "expired"

SAID: Final = "acknowledged"
SESSION_CLOSED: Final = "session_closed"
CONNECTION_CLOSED: Final = "connection_closed"
STATE_FORGOTTEN: Final = "state_forgotten"
"""Why a member does not hold records any more; the last one: their leader has forgotten all that it knew."""

DELIVERY_LIMIT: Final = "delivery_limit"
BELOW_START: Final = "below_start"
COMPACTED: Final = "compacted"
ABORTED: Final = "aborted"
"""Why records are archived, although nobody has rejected them; NO_RECORD is another reason."""


class Fate(NamedTuple):
    """What has become of a range of records."""

    first_offset: int
    last_offset: int
    delivery_count: int
    member_id: str | None
    """Who holds them, or has held them until now; None: nobody."""
    fate: str | None
    """ACCEPTED and so on; None: nothing but that they are archived."""
    archived: str | None = None
    """Why they are never delivered again; None: they may be, or ACCEPTED and REJECTED say why not."""


def fate_of(
    in_flight: InFlight, index: int, member_id: str | None, fate: str | None, archived: str | None = None
) -> Fate:
    """The fate of a range. `archived`: if it is, why; unless given, as it lies or by its count."""
    first, last, count = in_flight.firsts[index], in_flight.lasts[index], in_flight.counts[index]
    if archived is None and in_flight.states[index] == ARCHIVED and fate != REJECTED:
        archived = BELOW_START if last < in_flight.start else DELIVERY_LIMIT
    return Fate(first, last, count, member_id, fate, archived)


class RecordObserver:
    """Does nothing: so it is while nobody listens. `share_record_source.py` makes events of it.

    What happens with every fetch or acknowledgement is worked out only for another one than UNOBSERVED.
    """

    def loaded(self, key: SharePartitionKey, start: int) -> None:
        """A leader has read what is written of the share partition, which begins at `start`, and knows nothing else."""

    def acquired(self, key: SharePartitionKey, member_id: str, entries: Sequence[tuple[int, int, int]]) -> None:
        """A member holds records. `entries`: first and last offset, and the delivery count."""

    def settled(self, key: SharePartitionKey, fates: Iterable[Fate], cause: str | None = None) -> None:
        """Something has become of records that counts. `cause`: why those that are RELEASED are."""

    def start_moved(self, key: SharePartitionKey, before: int, start: int) -> None:
        """The share partition begins at `start`, later than before."""


UNOBSERVED: Final = RecordObserver()
