"""Requests without a broker: the guard stands where kio's reader stands; no bytes lead to anything but DecodeError.

All of it runs in a process with limited memory, since kio allocates what a count announces: that would end this one.
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

MEMORY_BYTES = 768 << 20
"""What reading may take beyond what the process has; frames have some hundred bytes, a few of them 100 KB."""

OF_EACH = 6
"""Bodies to start with, of each API and version."""


class Case(NamedTuple):
    """A request, or something inside of one (then `version` is 0)."""

    name: str
    version: int
    body: bytes

    def __str__(self) -> str:
        return f"{self.name} v{self.version} {self.body.hex()}"


def cases(seed: int, count: int) -> Iterator[Case]:
    """What a seed comes to: one case in four as a client would send it, the others damaged."""
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
    """Raises AssertionError, or whatever should not have been raised."""
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
    except Exception:  # kio says why in many ways; what counts is that it has not allocated what it could not read
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
    """Checks `count` requests and more. None: nothing was wrong. Else the shortest case that fails, and how."""
    last = mmap.mmap(-1, 1 << 20)
    problem = _in_a_process(lambda: _check_all(seed, count, last, progress))
    if problem is None:
        return None
    case = _case_in(last)
    return f"{problem}\n{_shrunk(case)}"


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
    """A case that fails, too, with as few bytes as leaving out stretches leads to."""
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
    """How a single case fails, if it does."""
    return _in_a_process(lambda: check(case))


def _in_a_process(work: Callable[[], None]) -> str | None:
    """Does it with limited memory. None when it came to an end; else how it failed."""
    said, says = os.pipe()
    pid = os.fork()
    if not pid:
        _work_and_leave(work, said, says)
    os.close(says)
    with os.fdopen(said) as told:
        problem = told.read()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"the process was ended by signal {-code}: it wanted more than {MEMORY_BYTES >> 20} MB"
    return problem or None


def _work_and_leave(work: Callable[[], None], said: int, says: int) -> None:
    os.close(said)
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, sys.stderr.fileno()) if sys.stderr.fileno() == 2 else None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = pages * resource.getpagesize() + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        work()
    except BaseException as problem:
        os.write(says, f"{type(problem).__name__}: {problem}"[:4_000].encode() or b"?")
    finally:
        os._exit(0)
