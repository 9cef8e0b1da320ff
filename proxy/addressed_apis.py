"""The APIs whose answers say where brokers are: a client that hears them as they are goes round the proxy."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from kio.static.constants import EntityType

ADDRESSED: Final = {
    0: "produce",
    1: "fetch",
    3: "metadata",
    10: "find_coordinator",
    60: "describe_cluster",
    78: "share_fetch",
    79: "share_acknowledge",
}
"""Keys of APIs whose answers are rewritten, and kio's names of them."""

LEFT_ALONE: Final = {
    "begin_quorum_epoch": "controllers talk to each other, past the proxy",
    "delete_acls": "hosts that clients come from",
    "describe_acls": "hosts that clients come from",
    "describe_quorum": "listeners of controllers; an administrator reads them, no client dials them",
    "end_quorum_epoch": "controllers talk to each other, past the proxy",
    "fetch_snapshot": "controllers talk to each other, past the proxy",
    "streams_group_describe": "where instances of an application find each other",
    "streams_group_heartbeat": "where instances of an application find each other",
    "update_raft_voter": "controllers talk to each other, past the proxy",
    "vote": "controllers talk to each other, past the proxy",
}
"""Answers with a host or a port that are passed on as they are, and why."""

MOST_VERSIONS: Final = 64
"""More than any API has."""


@cache
def known_versions(name: str) -> range:
    """The versions whose answers can be read, by kio's name of the API."""
    found = [version for version in range(MOST_VERSIONS) if find_spec(f"kio.schema.{name}.v{version}") is not None]
    return range(found[0], found[-1] + 1)


def entity(name: str, version: int) -> Any:
    """kio's class for the whole answer."""
    module = import_module(f"kio.schema.{name}.v{version}.response")
    return next(each for each in vars(module).values() if getattr(each, "__type__", None) is EntityType.response)


def passable(key: int, version: int) -> bool:
    """Whether an answer can be passed on: it says no address, or one that can be found.

    Versions that kio does not know may say addresses in places that nobody here knows. Those that are older than what
    it knows say none where its oldest one says none (Fetch, Produce).
    """
    name = ADDRESSED.get(key)
    return name is None or (version <= newest_passable(key) and version >= oldest_passable(key))


@cache
def newest_passable(key: int) -> int:
    """The newest version of an API in `ADDRESSED` whose answers can be passed on."""
    return known_versions(ADDRESSED[key])[-1]


@cache
def oldest_passable(key: int) -> int:
    """The oldest one."""
    from kohort.proxy.answer_layout import layout_of

    oldest = known_versions(ADDRESSED[key])[0]
    return oldest if layout_of(key, oldest) is not None else 0
