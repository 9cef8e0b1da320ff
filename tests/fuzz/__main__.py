"""Sends large numbers of damaged requests: first to the reader without a broker, then to a broker.

Three brokers are tested: one in memory, one on disk, and one with security.

All requests follow from one seed, apart from the order of responses. Exit code 0: no errors; 1: errors; 130:
interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from time import monotonic

from tests.fuzz import reading
from tests.fuzz.live import Live
from tests.fuzz.shrinking import Batch, shrunk

KINDS = ("read", "memory", "disk", "secured")
READ_WITHOUT_BROKER = 30_000
SECONDS = 15
SHRINKING_S = 120
FOR_EVER_S = 1e9


def main() -> int:
    arguments = _arguments()
    seed = arguments.seed
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.default_int_handler)  # or else the broker outlives this process
    print(f"seed {seed}; make fuzz SEED={seed} makes the same frames again", flush=True)
    try:
        kinds = (arguments.only,) if arguments.only else KINDS
        wrong = "read" in kinds and _reads(seed, arguments.frames or READ_WITHOUT_BROKER)
        for where in kinds:
            if where != "read":
                wrong |= _storms(where, seed, arguments.frames)
    except KeyboardInterrupt:
        print(f"\ninterrupted; seed {seed}", file=sys.stderr)
        return 130
    print(f"seed {seed}: {'something was wrong, see above' if wrong else 'nothing was wrong'}")
    return int(wrong)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--frames", type=int, help=f"of each kind; without it a broker is fuzzed for {SECONDS} s")
    parser.add_argument(
        "--only", choices=KINDS, help="read without a broker, or sent to one in memory, on disk or secured"
    )
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 32))
    return parser.parse_args()


def _reads(seed: int, frames: int) -> bool:
    began = monotonic()
    show = _progress()
    error = reading.fuzz(seed, frames, lambda number: show(f"{number:>9,} of {frames:,} requests read"))
    if error is None:
        print(f"read: {frames:,} requests in {monotonic() - began:.0f} s, guard and reader agree", flush=True)
        return False
    print(f"read: FAILED, {error}", file=sys.stderr)
    return True


def _storms(broker_type: str, seed: int, frames: int | None) -> bool:
    with tempfile.TemporaryDirectory(prefix="kohort-fuzz-") as folder:
        live = Live(seed, Path(folder) / "data" if broker_type == "disk" else None, secured=broker_type == "secured")
        show = _progress()
        seconds = FOR_EVER_S if frames else SECONDS
        asyncio.run(live.run(frames or 1 << 62, seconds, lambda line: show(f"{broker_type}: {line}")))
    counts, figures = live.counts, live.figures
    print(
        f"{broker_type}: {counts.sent:,} frames of {len(counts.apis)} APIs and versions, "
        f"{counts.damaged:,} damaged; {counts.answered:,} answers, "
        f"{counts.hung_up:,} of {counts.connections:,} connections closed by the broker"
    )
    unanswered = ", ".join(f"{name} {times:,}" for name, times in counts.unanswered.most_common(6))
    print(f"{broker_type}: {counts.given_up:,} times a client gave up, most often on {unanswered or 'nothing'}")
    print(f"{broker_type}: " + ", ".join(f"{name} {value:,.1f}" for name, value in figures.items()), flush=True)
    for error in live.problems[:20]:
        print(f"{broker_type}: WRONG: {error}", file=sys.stderr)
    if live.suspects:
        _print_frames(live.suspects, seed, broker_type)
    return bool(live.problems)


def _print_frames(suspects: list[Batch], seed: int, broker_type: str) -> None:
    """Print the fewest frames that lead to an error, or where all frames are stored."""
    print(
        f"{broker_type}: looking for the frames that did it, for {SHRINKING_S} s at most …", file=sys.stderr, flush=True
    )
    few = shrunk(suspects, broker_type == "disk", SHRINKING_S)
    if few is None:
        print(f"{broker_type}: the last {len(suspects)} batches do not do it again; all are kept:", file=sys.stderr)
    kept = Path(tempfile.gettempdir()) / f"kohort-fuzz-{seed}-{broker_type}.jsonl"
    lines = [json.dumps([frame.hex() for frame in batch]) for batch in few or suspects]
    kept.write_text("\n".join(lines) + "\n")
    print(f"{broker_type}: {len(lines)} batches, one a line, frames in hex: {kept}", file=sys.stderr)
    for line in lines[:5] if few else ():
        print(f"{broker_type}: {line[:2_000]}", file=sys.stderr)


def _progress() -> Callable[[str], None]:
    """Return a function that shows a line: in place of the last one on a terminal, else every ten seconds."""
    shown_s = monotonic()

    def show(line: str) -> None:
        nonlocal shown_s
        if sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif monotonic() - shown_s > 10:
            shown_s = monotonic()
            print(line, file=sys.stderr, flush=True)

    return show


if __name__ == "__main__":
    sys.exit(main())
