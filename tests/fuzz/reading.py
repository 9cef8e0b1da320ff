"""Reads requests without a broker, with the guard in place of kio's reader; the only error may be DecodeError.

It runs in a process with limited memory, because kio allocates as much as a count announces.
"""

from __future__ import annotations

import mmap
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from kio.serial import entity_reader
from kio.static.constants import EntityType

from kohort.protocol.consumer_protocol import (
    ImpossibleLengthError,
    read_assignment,
    read_subscription,
    subscribed_topics,
)
from kohort.protocol.errors import DecodeError
from kohort.protocol.guard import LONGEST_STRING, Guard
from kohort.protocol.headers import read_header
from tests.fuzz.mutations import mutate
from tests.fuzz.requests import Pool
from tests.protocol.messages import load

# memory for reading in addition to that of the process; frames have some hundred bytes, a few of them 100 KB
MEMORY_BYTES = 768 << 20

OF_EACH = 6  # initial bodies of each API and version


class Case(NamedTuple):
    """A request, or a structure inside of one (then `version` is 0)."""

    name: str
    version: int
    body: bytes

    def __str__(self) -> str:
        return f"{self.name} v{self.version} {self.body.hex()}"


def cases(seed: int, count: int) -> Iterator[Case]:
    """Yield the cases of a seed: one in four is valid, the others are damaged."""
    random = Random(seed)
    pool = Pool(random, OF_EACH)
    for number in range(count):
        name, version, body = pool.body()
        if number % 4:
            body = mutate(random, body)
        yield Case(name, version, body)
        if name in ("join_group", "sync_group") or number % 40 == 0:
            yield Case("consumer", 0, mutate(random, body))
            yield Case("header", 0, mutate(random, pool.frame(name, version, body)[4:]))


def check(case: Case) -> None:
    """Check a case.

    Raises:
        AssertionError: The case is read incorrectly; other unexpected exceptions are raised, too.
    """
    if case.name == "header":
        with suppress(DecodeError):
            assert read_header(case.body).body_offset <= len(case.body)
    elif case.name == "consumer":
        for read in (subscribed_topics, read_subscription, read_assignment):
            with suppress(ImpossibleLengthError):
                read(case.body)
    else:
        _check_request(case)


def _check_request(case: Case) -> None:
    guard, by_kio = _readers(case.name, case.version)
    body = case.body
    with suppress(DecodeError):
        load(case.name).read(case.version, body, 0)
    try:
        if guard.quick is not None:
            guard.quick(body, 0, None)
    except (DecodeError, IndexError):
        return
    try:
        _, end = by_kio(body, 0)
    except Exception:  # kio has many error messages; it must not allocate memory for data that it cannot read
        return
    stands = guard.skip(body, 0, None)
    assert stands == end, f"the guard stands at {stands}, the reader at {end}"
    if len(body) <= LONGEST_STRING:
        guard.check(body, 0, len(body))  # or else a large request of these bytes would be refused
    assert by_kio(guard.mended(body, 0), 0)


@cache
def _readers(name: str, version: int) -> tuple[Guard, Callable[[bytes, int], tuple[Any, int]]]:
    entity = load(name).entity(version, EntityType.request)
    return Guard(entity), entity_reader(entity)


def fuzz(seed: int, count: int, progress: Callable[[int], None] = lambda number: None) -> str | None:
    """Check at least `count` requests. Return None, or the shortest failing case with its error."""
    last = mmap.mmap(-1, 1 << 20)
    error = _in_a_process(lambda: _check_all(seed, count, last, progress))
    if error is None:
        return None
    case = _case_in(last)
    return f"{error}\n{_shrunk(case)}"


def _check_all(seed: int, count: int, last: mmap.mmap, progress: Callable[[int], None]) -> None:
    for number, case in enumerate(cases(seed, count)):
        noted = str(case).encode()
        last[: len(noted) + 1] = noted + b"\n"
        check(case)
        if number % 1_000 == 0:
            progress(number)


def _case_in(last: mmap.mmap) -> Case:
    name, version, body = last[: last.find(b"\n")].decode().split(" ")
    return Case(name, int(version[1:]), bytes.fromhex(body))


def _shrunk(case: Case) -> Case:
    """Remove ranges from a case as long as it still fails."""
    body, step = case.body, len(case.body) // 2
    while step:
        at = 0
        while at < len(body):
            shorter = body[:at] + body[at + step :]
            if fails(case._replace(body=shorter)):
                body = shorter
            else:
                at += step
        step //= 2
    return case._replace(body=body)


def fails(case: Case) -> str | None:
    """Return the error of a case, or None."""
    return _in_a_process(lambda: check(case))


def _in_a_process(work: Callable[[], None]) -> str | None:
    """Run `work` with limited memory. Return None, or its error."""
    read_end, says = os.pipe()
    pid = os.fork()
    if not pid:
        _work_and_leave(work, read_end, says)
    os.close(says)
    with os.fdopen(read_end) as output:
        error = output.read()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"the process was ended by signal {-code}: it wanted more than {MEMORY_BYTES >> 20} MB"
    return error or None


def _work_and_leave(work: Callable[[], None], read_end: int, write_end: int) -> None:
    os.close(read_end)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stderr.fileno()) if sys.stderr.fileno() == 2 else None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        work()
    except BaseException as problem:
        os.write(write_end, f"{type(problem).__name__}: {problem}"[:4_000].encode() or b"?")
    finally:
        os._exit(0)
