"""Parts of a group's explanation: its waits, advice for each client, and unsuitable settings."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.base.visible import visible


@dataclass(frozen=True)
class Wait:
    """Event that the group waits for."""

    for_whom: tuple[str, ...]  # empty if it waits for time to pass
    what: str
    ends_in_ms: int | None  # time until a timer ends the wait, on the brokers' clock; None without a known timer
    then: str
    knows_timers: bool = True  # whether None as the end means that no timer ends the wait

    def __str__(self) -> str:
        subject = f"{', '.join(self.for_whom)} {self.what}" if self.for_whom else self.what
        ends = f"; {duration(self.ends_in_ms)}" if self.knows_timers else ""
        return f"{subject}{ends}: {self.then}"


@dataclass(frozen=True)
class Advice:
    """Action that a client should take now."""

    client: str
    should: str
    session_ends_in_ms: int | None  # None while its request waits, as its session can't expire then, or if unknown
    is_alive: bool = True

    def __str__(self) -> str:
        text = f"{self.client}: {self.should}"
        if self.session_ends_in_ms is not None:
            text += f"; its session ends {duration(self.session_ends_in_ms)}"
        if not self.is_alive:
            text += "; it cannot do so: its connection is closed, or a fault silences it"
        return text


@dataclass(frozen=True)
class Explanation:
    """Explanation of a group; `str()` is the text for people."""

    headline: str
    waits: tuple[Wait, ...] = ()
    clients: tuple[Advice, ...] = ()
    badly_set: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()  # missing rights of clients, and the ACLs that would grant them
    partitions: tuple[str, ...] = ()  # progress of a share group in each partition, and why it gets no more records

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [f"  waits for {item}" for item in self.waits] or ["  waits for nothing"]
        lines += [f"  {item}" for item in (*self.partitions, *self.clients)]
        lines += [f"  badly set: {item}" for item in self.badly_set]
        lines += [f"  denied: {item}" for item in self.denied]
        return "\n".join(map(visible, lines))


def duration(length_ms: int | None) -> str:
    if length_ms is None:
        return "no timer is known to end this"
    return f"in {length_ms / 1_000:g} s" if length_ms > 0 else "at once"
