"""Makes a sequence as short as it can be while its answers still differ: delta debugging over steps, then over fields.

Source: A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input (2002).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

from tests.differential.sequence import Step, Steps
from tests.talk.values import Value

StillDiffers = Callable[[Steps], Awaitable[bool]]


async def shrink(steps: Steps, still_differs: StillDiffers, tries: int = 120) -> list[Step]:
    """Return the shortest sequence within `tries` attempts for which `still_differs` is true."""
    left = tries

    async def shows(candidate: Steps) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and await still_differs(candidate)

    found = await _fewer_steps(list(steps), shows)
    return await _fewer_fields(found, shows)


async def _fewer_steps(steps: list[Step], shows: StillDiffers) -> list[Step]:
    size = max(1, len(steps) // 2)
    while True:
        at = 0
        removed = False
        while at < len(steps):
            candidate = steps[:at] + steps[at + size :]
            if candidate and await shows(candidate):
                steps, removed = candidate, True
            else:
                at += size
        if size > 1:
            size //= 2
        elif not removed:
            return steps


async def _fewer_fields(steps: list[Step], shows: StillDiffers) -> list[Step]:
    for number in range(len(steps)):
        if not isinstance(steps[number].values, dict) or steps[number].kind != "request":
            continue
        simpler = _simpler(steps[number].values)
        while (values := next(simpler, None)) is not None:
            candidate = [*steps[:number], steps[number]._replace(values=values), *steps[number + 1 :]]
            if await shows(candidate):
                steps = candidate
                simpler = _simpler(values)
    return steps


def _simpler(value: Value) -> Iterator[Value]:
    """Yield values with one field, element or list content less."""
    if isinstance(value, dict):
        for key in value:
            yield {name: item for name, item in value.items() if name != key}
        for key, item in value.items():
            for simpler in _simpler(item):
                yield value | {key: simpler}
    elif isinstance(value, list):
        for at in range(len(value)):
            yield value[:at] + value[at + 1 :]
        for at, item in enumerate(value):
            for simpler in _simpler(item):
                yield [*value[:at], simpler, *value[at + 1 :]]
