"""Log ends of the partitions that groups have committed, over the last hour, for lags in records and in seconds.

One sample a minute is kept, in one array: 50,000 partitions need 25 MB.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

STEP_MS, SAMPLES_KEPT = 60_000, 60
UNKNOWN = -1  # the partition was not in the sample

TopicPartition = tuple[str, int]
Ends = npt.NDArray[np.int64]


class LogEnds:
    """Samples of log ends. A newer sample replaces the last one until a minute has passed."""

    def __init__(self) -> None:
        self._columns: dict[TopicPartition, int] = {}
        self._samples: deque[tuple[int, Ends]] = deque(maxlen=SAMPLES_KEPT)
        self._latest: tuple[int, Ends] | None = None

    def add(self, now_ms: int, ends: Mapping[TopicPartition, int]) -> None:
        for place in ends:
            self._columns.setdefault(place, len(self._columns))
        sample = np.full(len(self._columns), UNKNOWN, np.int64)
        sample[[self._columns[place] for place in ends]] = list(ends.values())
        self._latest = (now_ms, sample)
        if not self._samples or now_ms - self._samples[-1][0] >= STEP_MS:
            self._samples.append(self._latest)

    def lags(self, committed: Iterable[tuple[TopicPartition, int]], now_ms: int) -> list[tuple[int, float] | None]:
        """Return the lag in records and in seconds of each committed offset, or None if the log end is unknown.

        The lag in seconds is the time since the last sample that did not contain the next record. If all samples
        contain it, the time since the first sample is returned, which is a lower bound.
        """
        pairs = list(committed)
        if self._latest is None or not pairs:
            return [None] * len(pairs)
        columns = np.array([self._columns.get(place, -1) for place, _ in pairs])
        offsets = np.array([offset for _, offset in pairs], np.int64)
        latest = _values(self._latest[1], columns)
        waited_since = np.full(len(pairs), self._samples[0][0], np.int64)
        for at_ms, sample in (*self._samples, self._latest):
            values = _values(sample, columns)
            waited_since[(values <= offsets) & (values != UNKNOWN)] = at_ms
        lags = np.maximum(latest - offsets, 0)
        seconds = np.where(lags > 0, np.maximum(now_ms - waited_since, 0) / 1000, 0.0)
        return [
            None if end == UNKNOWN else (lag, waited)
            for end, lag, waited in zip(latest.tolist(), lags.tolist(), seconds.tolist(), strict=True)
        ]


def _values(sample: Ends, columns: npt.NDArray[np.int64]) -> Ends:
    """Return the values of the columns; samples are shorter than later ones if partitions were added."""
    exists = (columns >= 0) & (columns < len(sample))
    return np.where(exists, sample[np.where(exists, columns, 0)] if len(sample) else UNKNOWN, UNKNOWN)
