"""Plays thousands of sequences, several at a time, and gathers what differs."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.differential.comparing import Difference
from tests.differential.kinds import make_sequence
from tests.differential.playing import PATIENCE_S, Outcome, play
from tests.differential.sequence import Steps
from tests.differential.shrinking import shrink
from tests.differential.stage import Brokers, Stage
from tests.differential.writing import write_talk

SLOWLY_S = 1.2
"""The pause after what takes Kafka a moment, when a difference is looked at again."""

IMPATIENTLY_S = 2.0
"""How long one may be silent while a difference is made shorter: in the end it is looked at with patience."""

ALONE_TIMES = 5
"""Number of times a difference is played alone. If it never shows, it is a race."""

TELL_EVERY_S = 20.0

PLAYED_AGAIN_TOGETHER = 16
SHORTENED_TOGETHER = 4
"""How many sequences that differed are played again, and made shorter, at once while others continue."""


@dataclass
class Tally:
    """How the sequences of one kind went."""

    played: int = 0
    differed: int = 0
    once_only: int = 0
    """Differed, but not when they were played again: Kafka had not been ready, or the machine was too busy."""
    broken: int = 0
    """Could not be played to their end: a broker was gone, or did not get ready."""


class Place(NamedTuple):
    """A sequence that was made up."""

    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind} {self.seed}"


@dataclass
class Run:
    """All sequences against one pair of brokers."""

    brokers: Brokers
    folder: Path
    at_a_time: int
    release: str
    found: dict[str, list[Place]] = field(default_factory=dict)
    """New differences by their signature: where they were met."""
    passing: dict[str, list[Place]] = field(default_factory=dict)
    """Differences that showed twice with other sequences, but not alone."""
    known: Counter[str] = field(default_factory=Counter)
    tallies: dict[str, Tally] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._stage = Stage(self.brokers, f"{int(time.time() * 1000) % 36**4:x}")
        self._again = asyncio.Semaphore(PLAYED_AGAIN_TOGETHER)
        self._shortening = asyncio.Semaphore(SHORTENED_TOGETHER)

    async def play_kinds(self, kinds: Iterable[str], seed: int, sequences: int) -> None:
        """Play this many sequences of each type from `seed` on, then those that differed alone."""
        teller = asyncio.create_task(self._tell(sequences))
        try:
            await asyncio.gather(*(self._play_kind(kind, seed, sequences) for kind in kinds))
            for signature in list(self.found):
                await self._play_alone(signature)
        finally:
            teller.cancel()
            await self._stage.close()

    async def _play_kind(self, kind: str, seed: int, sequences: int) -> None:
        tally = self.tallies[kind] = Tally()
        print(f"{kind}: {sequences} sequences from {seed} on", flush=True)
        seeds = iter(range(seed, seed + sequences))
        started = time.monotonic()
        closer_looks: list[asyncio.Task[None]] = []

        async def work() -> None:
            for number in seeds:
                try:
                    if await self._differs(kind, number, tally):
                        closer_looks.append(asyncio.create_task(self._look_again(kind, number, tally)))
                except (OSError, TimeoutError) as problem:
                    self._broke(kind, number, tally, problem)

        await asyncio.gather(*(work() for _ in range(self.at_a_time)))
        took_s = time.monotonic() - started
        print(f"{kind}: {tally.played} played in {took_s:.0f} s, {tally.played / took_s:.1f} a second", flush=True)
        await asyncio.gather(*closer_looks)

    async def _tell(self, sequences: int) -> None:
        """Print the progress of each type now and then."""
        while True:
            await asyncio.sleep(TELL_EVERY_S)
            text = ", ".join(f"{kind} {tally.played}" for kind, tally in self.tallies.items())
            print(f"  {text} of {sequences} played, {len(self.found)} new differences", flush=True)

    def _broke(self, kind: str, seed: int, tally: Tally, problem: Exception) -> None:
        tally.broken += 1
        print(f"  {kind} {seed} could not be played: {problem!r}", flush=True)

    @property
    def failed(self) -> bool:
        """Whether something new differs, or could not be looked at."""
        return bool(self.found) or any(tally.broken for tally in self.tallies.values())

    def summarise(self) -> None:
        print()
        for kind, tally in self.tallies.items():
            alike = tally.played - tally.differed
            told = f"{alike} alike, {tally.differed} differ, {tally.once_only} differed only once"
            told += f", {tally.broken} could not be played" if tally.broken else ""
            print(f"{kind:13} {tally.played:6} played, {told}")
        for reason, times in self.known.most_common():
            print(f"meant to differ, {times} times: {reason}")
        for word, differences in (("differed, but never alone", self.passing), ("DIFFERS", self.found)):
            for signature, where in differences.items():
                print(f"{word}, {len(where)} times ({', '.join(map(str, where[:3]))}): {signature}")
        print(f"{len(self.found)} new differences" + (f", written to {self.folder}" if self.found else ""))

    async def _differs(self, kind: str, seed: int, tally: Tally) -> bool:
        outcome = await self._play(make_sequence(kind, seed))
        tally.played += 1
        self.known.update(set(outcome.known))
        return bool(outcome.differences)

    async def _look_again(self, kind: str, seed: int, tally: Tally) -> None:
        try:
            async with self._again:
                difference = await self._play_again(kind, seed, tally)
            if difference is not None:
                async with self._shortening:
                    await self._look_closely(kind, seed, difference)
        except (OSError, TimeoutError) as problem:
            self._broke(kind, seed, tally, problem)

    async def _play_again(self, kind: str, seed: int, tally: Tally) -> Difference | None:
        """Play a sequence with a new difference again, and return it if it differs again."""
        again = await self._play(make_sequence(kind, seed), SLOWLY_S)
        if not again.differences:
            tally.once_only += 1
            return None
        tally.differed += 1
        difference = again.differences[0]
        where = Place(kind, seed)
        if difference.signature in self.found:
            self.found[difference.signature].append(where)
            print(f"  {where} also differs: {difference.signature[:100]}", flush=True)
            return None
        self.found[difference.signature] = [where]
        print(f"  {where} differs: {difference}", flush=True)
        return difference

    async def _shows_alone(self, signature: str, place: Place) -> bool:
        for _ in range(ALONE_TIMES):
            outcome = await self._play(make_sequence(*place), SLOWLY_S)
            if any(difference.signature == signature for difference in outcome.differences):
                return True
        print(f"  {place} does not differ alone: {signature[:100]}", flush=True)
        return False

    async def _play_alone(self, signature: str) -> None:
        """Mark a difference as a race if it does not show when it is played alone."""
        for place in self.found[signature]:
            try:
                if await self._shows_alone(signature, place):
                    return
            except (OSError, TimeoutError) as problem:
                self._broke(*place, self.tallies[place.kind], problem)
                return
        self.passing[signature] = self.found.pop(signature)

    async def _look_closely(self, kind: str, seed: int, difference: Difference) -> None:
        steps = make_sequence(kind, seed)

        async def still_differs(candidate: Steps) -> bool:
            shown = (await self._play(candidate, SLOWLY_S / 4, IMPATIENTLY_S)).differences
            return bool(shown) and shown[0].signature == difference.signature

        short = await shrink(steps, still_differs)
        outcome = await self._play(short, SLOWLY_S)
        if not outcome.differences:
            short, outcome = list(steps), await self._play(steps, SLOWLY_S)
        if outcome.differences:
            path = write_talk(self.folder, kind, seed, outcome, self.release)
            print(f"  {kind} {seed}: {outcome.differences[0]}\n    {len(short)} steps, {path}", flush=True)

    async def _play(self, steps: Steps, pause_s: float = 0.03, patience_s: float = PATIENCE_S) -> Outcome:
        return await play(steps, self.brokers, self._stage, pause_s, patience_s)
