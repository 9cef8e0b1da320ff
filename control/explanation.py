"""What an explanation of a group is made of: whom it waits for, what each client should do, and what is badly set."""

from __future__ import annotations

from dataclasses import dataclass

from kohort.protocol.visible import visible


@dataclass(frozen=True)
class Wait:
    """Something that the group waits for."""

    for_whom: tuple[str, ...]
    """Nobody: it waits for time to go by."""
    what: str
    ends_in_ms: int | None
    """When the timer ends it, on the brokers' clock; None: no timer does."""
    then: str

    def __str__(self) -> str:
        whom = f"{', '.join(self.for_whom)} {self.what}" if self.for_whom else self.what
        return f"{whom}; {duration(self.ends_in_ms)}: {self.then}"


@dataclass(frozen=True)
class Advice:
    """What one client should do now."""

    client: str
    should: str
    session_ends_in_ms: int | None
    """When it is taken for dead; None: not while its request waits."""
    is_alive: bool | None
    """None: not known."""

    def __str__(self) -> str:
        text = f"{self.client}: {self.should}"
        if self.session_ends_in_ms is not None:
            text += f"; its session ends {duration(self.session_ends_in_ms)}"
        if self.is_alive is False:
            text += "; nobody is there to do so: its connection is closed, or a fault keeps it silent"
        return text


@dataclass(frozen=True)
class Explanation:
    """All of it; `str()` is for people."""

    headline: str
    waits: tuple[Wait, ...]
    clients: tuple[Advice, ...]
    badly_set: tuple[str, ...]
    denied: tuple[str, ...] = ()
    """What clients are refused for want of a right, and which ACL would give it to them."""
    partitions: tuple[str, ...] = ()
    """How far a share group is with each partition, and why nothing more comes from there."""

    def __str__(self) -> str:
        lines = [self.headline]
        lines += [f"  waits for {each}" for each in self.waits] or ["  waits for nobody"]
        lines += [f"  {each}" for each in (*self.partitions, *self.clients)]
        lines += [f"  badly set: {each}" for each in self.badly_set]
        lines += [f"  denied: {each}" for each in self.denied]
        return "\n".join(map(visible, lines))


def duration(length_ms: int | None) -> str:
    """`in 9.5 s`."""
    if length_ms is None:
        return "no timer is known to end this"
    return f"in {length_ms / 1_000:g} s" if length_ms > 0 else "at once"
