"""`make crash ROUNDS=200`: a broker under load, killed so many times; whatever it acknowledged must be there."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from pathlib import Path
from random import SystemRandom
from time import monotonic

from tests.crash.killing import Killing


def main() -> int:
    """Exit code 0: nothing was lost; 1: something was, and the directory is kept; 130: interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 20))
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kohort-crash-"))
    killing = Killing(folder, arguments.seed)
    print(f"seed {arguments.seed}, {arguments.rounds} rounds, fsync never and always by turns, in {folder}", flush=True)
    began = monotonic()
    number = 0
    try:
        number = asyncio.run(_rounds(killing, arguments.rounds))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        shutil.rmtree(folder)
        return 130
    except AssertionError as problem:
        print(f"LOST: {problem}\nmake crash SEED={arguments.seed}; the directory is kept: {folder}", file=sys.stderr)
        return 1
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(killing.told.items()))
    print(f"{number} rounds in {monotonic() - began:.0f} s, nothing lost of {told}")
    print(f"{killing.mended} torn tails were cut off; the slowest start took {killing.slowest_start_s:.1f} s")
    shutil.rmtree(folder)
    return 0


async def _rounds(killing: Killing, rounds: int) -> int:
    for number in range(rounds):
        await killing.round(number)
        if (number + 1) % 10 == 0 or number + 1 == rounds:
            told = killing.told
            print(
                f"round {number + 1}: {told['records']:,} records, {told['commits']:,} commits, "
                f"{told['assignments']:,} assignments acknowledged, all there",
                flush=True,
            )
    await killing.ends()
    return rounds


if __name__ == "__main__":
    sys.exit(main())
