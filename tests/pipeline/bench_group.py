"""Memory and processor time of the analysis of one huge group: `python -m tests.pipeline.bench_group 50` (millions).

The commits are packed as engines hand them on: 100 partitions, each committed every 5 s.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kohort.pipeline.analysis.group_gold import gold_of_group
from kohort.pipeline.analysis.packed_commits import pack
from kohort.pipeline.history.silver_input import GroupRows

PARTS, PIECE = 100, 500_000
START_MS, INTERVAL_MS = 1_760_000_000_000, 5_000


def payloads(count: int) -> Iterator[bytes]:
    """Build this many commits, as rows of silver packed by group."""
    for first in range(0, count, PIECE):
        offset = np.arange(first, min(first + PIECE, count))
        rows, turn = len(offset), offset // PARTS
        texts = {"cluster": "c", "group_id": "g", "topic": "t"}
        columns = {name: pa.array([text] * rows).dictionary_encode() for name, text in texts.items()} | {
            "partition": pa.array(np.full(rows, 3, np.int32)),
            "offset": pa.array(offset),
            "ts_ms": pa.array(START_MS + INTERVAL_MS * turn + offset % PARTS),
            "part": pa.array((offset % PARTS).astype(np.int32)),
            "committed_offset": pa.array(100 * turn + offset * 7919 % 13),
            "is_tombstone": pa.array(np.zeros(rows, bool)),
            "txn": pa.nulls(rows, pa.string()).dictionary_encode(),
            "expire_ts_ms": pa.nulls(rows, pa.int64()),
            "rank": pa.array(np.zeros(rows, np.int8)),
        }
        for packed in pack(pa.table(columns)):
            yield from packed["payload"].to_pylist()


def main(millions: float) -> None:
    """Measure one group and print one line."""
    count = round(1_000_000 * millions)
    begun_s = time.process_time()
    gold = gold_of_group("c", "g", payloads(count), GroupRows(until_ms=START_MS + count // PARTS * INTERVAL_MS))
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = sum(map(len, gold.values()))
    print(
        f"{count} commits: {peak_mib:.0f} MiB, {time.process_time() - begun_s:.1f} s of processor, {rows} rows of gold"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]))
