"""`make crash`: brokers that are killed, and disks of which each call fails; what was acknowledged must be there.

`make crash ROUNDS=200` kills a broker under load this often. `make crash CALLS=1` lets each call to the disk fail,
one in each life of a broker; `CALLS=10` every tenth, `CALLS=0` none.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import SystemRandom
from time import monotonic

from tests.crash.calls import calls_of, faults, play
from tests.crash.killing import FSYNC, Killing


def main() -> int:
    """Exit code 0: nothing was lost; 1: something was, and the directory is kept; 130: interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=1, metavar="N", help="each Nth call to the disk fails; 0: none")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 20))
    arguments = parser.parse_args()
    try:
        killed = kills(arguments.rounds, arguments.seed) if arguments.rounds else 0
        return killed or (lets_calls_fail(arguments.calls) if arguments.calls else 0)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def kills(rounds: int, seed: int) -> int:
    folder = Path(tempfile.mkdtemp(prefix="kohort-crash-"))
    killing = Killing(folder, seed)
    print(f"seed {seed}, {rounds} rounds, fsync {', '.join(FSYNC)} by turns, in {folder}", flush=True)
    began = monotonic()
    try:
        asyncio.run(_rounds(killing, rounds))
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        raise
    except AssertionError as problem:
        print(f"LOST: {problem}\nmake crash SEED={seed}; the directory is kept: {folder}", file=sys.stderr)
        return 1
    text = ", ".join(f"{count:,} {what}" for what, count in sorted(killing.told.items()))
    print(f"{rounds} rounds in {monotonic() - began:.0f} s, nothing lost of {text}")
    print(f"{killing.mended} torn tails were cut off; the slowest start took {killing.slowest_start_s:.1f} s")
    shutil.rmtree(folder)
    return 0


async def _rounds(killing: Killing, rounds: int) -> None:
    for number in range(rounds):
        await killing.round(number)
        if (number + 1) % 10 == 0 or number + 1 == rounds:
            told = killing.told
            print(
                f"round {number + 1}: {told['records']:,} records, {told['commits']:,} commits, "
                f"{told['sync_group']:,} assignments and {told['epochs']:,} epochs acknowledged, all there; "
                f"{told['deliveries']:,} deliveries by a share group, {told['outcomes']:,} acknowledged",
                flush=True,
            )
    await killing.ends()


def lets_calls_fail(each: int) -> int:
    """Fail calls to the disk, in one life of a broker after the other."""
    began, failed, lives = monotonic(), 0, 0
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        for fsync in FSYNC:
            calls = calls_of(fsync)
            text = ", ".join(f"{count} {what}" for what, count in calls.most_common())
            print(f"--fsync {fsync}: {calls.total()} calls to the disk ({text})", flush=True)
            played = faults(fsync, calls.total())[::each]
            for number, problem in enumerate(processes.map(play, played), 1):
                if problem is not None:
                    failed += 1
                    print(f"LOST: {problem}", file=sys.stderr, flush=True)
                if number % 100 == 0 or number == len(played):
                    print(f"{number} of {len(played)} lives, {failed} with something lost", flush=True)
            lives += len(played)
    print(f"{lives} lives in {monotonic() - began:.0f} s, in each of which calls failed: {failed} with something lost")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
