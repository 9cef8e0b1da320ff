"""Deploys whose members have new names, as pods of a Deployment do: all members leave, and as many others join."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from kohort.pipeline.history.group_analysis import GroupAnalysis, once
from kohort.pipeline.history.member_sessions import Session

WINDOW_MS = 15 * 60_000
AFTERWARDS_MS = 60_000  # the last new member may join this long after the last old one has left
STAYED_MS = 60_000  # new members outlive old ones by this; otherwise the group was shut down in the order of its start
# NAME-HASH-TAIL; hashes of Kubernetes have no vowels and no digits that look like letters
_POD = re.compile(r"^(?P<base>.+)-(?P<template>[bcdfghjklmnpqrstvwxz2456789]{5,10})-[bcdfghjklmnpqrstvwxz2456789]{5}$")
_WENT = ("left", "unknown", "session_expired")


@dataclass(frozen=True, slots=True)
class Deploy:
    """Deploy with the sessions of old and new members, and the name and hashes of the pods, if known."""

    old: tuple[Session, ...]
    new: tuple[Session, ...]
    name: str | None = None
    hashes: tuple[str, str] | None = None

    @property
    def start_ms(self) -> int:
        return min(min(s.last_ms for s in self.old), min(s.first_ms for s in self.new))

    @property
    def end_ms(self) -> int:
        return max(max(s.last_ms for s in self.old), max(s.first_ms for s in self.new))


@once
def deploys(analysis: GroupAnalysis) -> list[Deploy]:
    """Return the deploys by time: those that pod names prove, then those that only replace the membership."""
    returning = {s.predecessor for s in analysis.sessions if s.predecessor is not None}
    fresh = [s for s in analysis.sessions if not s.member.instance_id and not s.predecessor and s not in returning]
    replacements = _by_names(fresh)
    named = {session for deploy in replacements for session in (*deploy.old, *deploy.new)}
    replacements += _by_turnover([session for session in fresh if session not in named])
    replacements = [deploy for deploy in replacements if not _came_to_empty_group(analysis, deploy)]
    return sorted(replacements, key=lambda deploy: deploy.start_ms)


def _came_to_empty_group(analysis: GroupAnalysis, deploy: Deploy) -> bool:
    """Return whether the group was empty before the first new member joined: a stop and a start."""
    first_ms = min(session.first_ms for session in deploy.new)
    return any(not g.size and deploy.start_ms <= g.stable_ms <= first_ms + 1_000 for g in analysis.generations)


def _by_names(fresh: list[Session]) -> list[Deploy]:
    pods: dict[str, dict[str, list[Session]]] = {}
    for session in fresh:
        if name := _POD.match(session.member.client_id):
            pods.setdefault(name["base"], {}).setdefault(name["template"], []).append(session)
    replacements = []
    for base, by_hash in pods.items():
        order = sorted(by_hash, key=lambda pod_hash: min(s.first_ms for s in by_hash[pod_hash]))
        for was, now in itertools.pairwise(order):
            came_ms = min(s.first_ms for s in by_hash[now])
            old = tuple(s for s in by_hash[was] if s.end_kind in _WENT and s.last_ms >= came_ms - WINDOW_MS)
            if len(old) > 1 and max(s.last_ms for s in old) - came_ms <= WINDOW_MS:
                replacements.append(Deploy(old, tuple(by_hash[now]), base, (was, now)))
    return replacements


def _by_turnover(fresh: list[Session]) -> list[Deploy]:
    replacements: list[Deploy] = []
    after_ms = 0
    for begin_ms in sorted({s.first_ms for s in fresh} | {s.last_ms for s in fresh}):
        if begin_ms <= after_ms:
            continue
        old = tuple(s for s in fresh if s.first_ms < begin_ms <= s.last_ms)
        if len(old) < 2 or not all(s.end_kind in _WENT for s in old):
            continue
        gone_ms = max(s.last_ms for s in old)
        new = tuple(s for s in fresh if begin_ms <= s.first_ms <= gone_ms + AFTERWARDS_MS)
        if {s.member.identity for s in old} & {s.member.identity for s in new}:
            continue
        as_many = len(new) > 1 and abs(len(new) - len(old)) <= max(1, len(old) // 4)
        stayed = all(s.end_kind == "alive" or s.last_ms > gone_ms + STAYED_MS for s in new)
        if gone_ms - begin_ms <= WINDOW_MS and as_many and stayed:
            replacements.append(Deploy(old, new))
            after_ms = replacements[-1].end_ms
    return replacements
