"""APIs whose responses contain broker addresses. A client that receives them unchanged bypasses the proxy."""

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
"""Keys of APIs whose responses are rewritten, with kio's names for them."""

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
"""Responses with a host or a port that pass unchanged, with the reason."""

MOST_VERSIONS: Final = 64  # more than any API has


@cache
def known_versions(name: str) -> range:
    """Return the range of versions of an API, given by kio's name, whose responses can be read."""
    versions = [version for version in range(MOST_VERSIONS) if find_spec(f"kio.schema.{name}.v{version}") is not None]
    return range(versions[0], versions[-1] + 1)


def entity(name: str, version: int) -> Any:
    """Return kio's class for a whole response."""
    module = import_module(f"kio.schema.{name}.v{version}.response")
    return next(value for value in vars(module).values() if getattr(value, "__type__", None) is EntityType.response)


def passable(key: int, version: int) -> bool:
    """Return whether a response can be passed on: it has no addresses, or ones that can be located.

    Versions newer than kio's may have addresses in unknown places. Versions older than kio's have none if its oldest
    one has none (Fetch, Produce).
    """
    name = ADDRESSED.get(key)
    return name is None or (version <= newest_passable(key) and version >= oldest_passable(key))


@cache
def newest_passable(key: int) -> int:
    return known_versions(ADDRESSED[key])[-1]


@cache
def oldest_passable(key: int) -> int:
    from kohort.proxy.answer_layout import layout_of

    oldest = known_versions(ADDRESSED[key])[0]
    return oldest if layout_of(key, oldest) is not None else 0
