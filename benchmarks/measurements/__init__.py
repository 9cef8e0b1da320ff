"""Measurements, with the names of the table in docs/explanation/performance-measured.md."""

from collections.abc import Awaitable, Callable
from functools import partial

from benchmarks.bench import Bench
from benchmarks.measurements import (
    authorizer,
    coldstart,
    commit,
    consumer,
    data,
    groups,
    heartbeat,
    laboratory,
    mixed,
    moving,
    rebalance,
    recorder,
    restart,
    rules,
)

MEASUREMENTS: dict[str, Callable[[Bench], Awaitable[None]]] = {
    "coldstart": coldstart.measure,
    "heartbeat 64x1": partial(heartbeat.measure, connections=64, in_flight=1),
    "heartbeat 64x16": partial(heartbeat.measure, connections=64, in_flight=16),
    "heartbeat 1000x1": partial(heartbeat.measure, connections=1000, in_flight=1),
    "rebalance 100": partial(rebalance.measure, members=100, times=10),
    "rebalance 1000": partial(rebalance.measure, members=1000, times=5),
    "rebalance 2000": partial(rebalance.measure, members=2000, times=3),
    "groups 10000x1": partial(groups.measure, groups=10_000, members=1),
    "groups 1000x10": partial(groups.measure, groups=1_000, members=10),
    "commit 16": partial(commit.measure, connections=16),
    "data 1": partial(data.measure, connections=4, sizes=[100]),
    "data 100": partial(data.measure, connections=4, sizes=[1024] * 100),
    "data large": partial(data.measure, connections=4, sizes=[103_000]),
    "data varied": partial(data.measure, connections=4, sizes=[300 + number * 89 % 1_000 for number in range(100)]),
    "mixed": mixed.measure,
    "moving": moving.measure,
    "consumer heartbeat 64x1": partial(consumer.heartbeats, connections=64, in_flight=1),
    "consumer heartbeat 64x16": partial(consumer.heartbeats, connections=64, in_flight=16),
    "consumer leave 100": partial(consumer.leaving, members=100, times=10),
    "consumer leave 1000": partial(consumer.leaving, members=1000, times=5),
    "assignors": consumer.assignors,
    "authorizer": authorizer.measure,
    "laboratory": laboratory.measure,
    "recorder": recorder.measure,
    "restart": restart.measure,
    "rules": rules.measure,
}  # name: measurement, which starts its own servers


def chosen(names: tuple[str, ...]) -> list[str]:
    """Return the measurements with these names, or whose names begin with these words.

    Raises:
        KeyError: A name matches no measurement.
    """
    if not names:
        return list(MEASUREMENTS)
    for name in names:
        if not any(name in (prefix, prefix.split()[0]) for prefix in MEASUREMENTS):
            raise KeyError(name)
    return [prefix for prefix in MEASUREMENTS if prefix in names or prefix.split()[0] in names]
