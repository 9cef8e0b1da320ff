"""Snapshots from kohort's control address, which shows more than Kafka's protocol: timers, causes and faults."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from http.client import HTTPException
from types import GenericAlias, UnionType
from typing import Any, get_args, get_origin, get_type_hints
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from kohort.base.control_token import headers
from kohort.base.control_url import control_url, display_address
from kohort.base.json_answer import read_json
from kohort.cli.watch.client import ANSWER_S, BrokerError
from kohort.cli.watch.snapshot import SeenGroup, SeenRebalance, SeenShare, Snapshot
from kohort.groups.explanation import Wait
from kohort.groups.group_members import GroupMember
from kohort.groups.type_words import words_of

NO_ROUTE = "Not Found"  # detail of a 404 response of any FastAPI server to an unknown path
UNKNOWN_MS = -1  # in place of timeouts, which an overview does not contain


class Controlled:
    """Cluster behind a control address."""

    def __init__(self, address: str, pattern: str = "*", token: str = "") -> None:
        """Set up a client without connecting.

        Args:
            address: HOST:PORT, also with `http://` or `https://` in front.
            pattern: Group ids with * and ?.
        """
        self._address = display_address(address)
        self._pattern, self._token = pattern, token

    async def look(self, at: float) -> Snapshot:
        """Return a snapshot. Raise BrokerError if the address does not respond or is not a control address."""
        state = await asyncio.to_thread(self._ask, f"/overview?{urlencode({'groups': self._pattern})}")
        try:
            snapshot = _snapshot(state, at)
            check(snapshot, Snapshot)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise BrokerError(f"{self._address} is not a control address of kohort") from None
        return snapshot

    async def explain(self, _: Snapshot, group_id: str) -> list[str]:
        """Return the lines that explain a group. Raise BrokerError if it does not exist."""
        lines = await asyncio.to_thread(self._ask, f"/groups/{quote(group_id, safe='')}/explanation")
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            raise BrokerError(f"{self._address} is not a control address of kohort")
        return lines

    def close(self) -> None:
        """Return without effect: connections are not kept open."""

    def _ask(self, path: str) -> Any:
        url = f"{control_url(self._address)}{path}"
        try:
            with urlopen(Request(url, headers=headers(self._token)), timeout=ANSWER_S) as answer:
                return read_json(answer)
        except HTTPError as error:
            raise BrokerError(_refusal(self._address, error)) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise BrokerError(f"{self._address} does not respond: {reason}") from None
        except ValueError:
            raise BrokerError(f"{self._address} is not a control address of kohort") from None


def check(value: object, kind: Any) -> None:
    """Raise TypeError unless a value has its declared type, including all fields."""
    inner = get_args(kind)
    if isinstance(kind, UnionType):
        kind = next((option for option in inner if (option is type(None)) == (value is None)), None)
        return check(value, kind)
    if get_origin(kind) is tuple and isinstance(value, tuple):
        types = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        for element, of in zip(value, types, strict=True):
            check(element, of)
    elif inner and isinstance(value, Mapping):
        for item in value.items():
            check(item, GenericAlias(tuple, inner))
    elif is_dataclass(kind) and type(value) is kind:
        hints = get_type_hints(kind)
        for field in fields(kind):
            check(getattr(value, field.name), hints[field.name])
    elif kind is float and type(value) in (int, float):
        return None
    elif inner or type(value) is not kind:
        raise TypeError(f"expected {kind}, got {value!r}")
    return None


def _refusal(address: str, error: HTTPError) -> str:
    try:
        detail = read_json(error)["detail"]
    except (OSError, ValueError, KeyError, TypeError):
        detail = None
    if error.code == 401 and isinstance(detail, str):
        return f"{detail}; set it with --token or KOHORT_CONTROL_TOKEN"
    if error.code == 404 and isinstance(detail, str) and detail != NO_ROUTE:
        return detail
    return f"{address} is not a control address of kohort: {error}"


def _snapshot(state: Any, at: float) -> Snapshot:
    clock = f"clock {state['now_ms'] / 1000:,.1f} s"
    if state["paused"]:
        clock += ", paused"
    elif state["scale"] != 1:
        clock += f", {state['scale']:g} times as fast"
    return Snapshot(
        at,
        state["brokers"],
        tuple(_group(group) for group in state["groups"]),
        laboratory=(clock, *state["rules"], *state["gates"]),
    )


def _group(state: Any) -> SeenGroup:
    return SeenGroup(
        group_id=state["id"],
        type=state["type"],
        state=state["state"],
        version=state["generation"],
        target_epoch=state["assignment_epoch"],
        protocol=state["protocol"],
        members=tuple(_member(item) for item in state["members"]),
        coordinator=state["coordinator"] if state["coordinator"] is not None else -1,
        lags={(topic, int(part)): lag for topic, lags in state["lags"].items() for part, lag in lags.items()},
        waits=tuple(
            Wait(tuple(item["for_whom"]), item["what"], item["ends_in_ms"], item["then"]) for item in state["waits"]
        ),
        rebalances=tuple(_rebalance(item, state["type"]) for item in state["rebalances"]),
        shares=tuple(
            SeenShare((item["topic"], item["partition"]), item["start_offset"], item["lag"], item["acquired"])
            for item in state.get("shared", ())  # older brokers have no share groups
            if item["start_offset"] is not None
        ),
    )


def _partitions(state: Any) -> dict[str, tuple[int, ...]]:
    return {topic: tuple(parts) for topic, parts in state.items()}


def _member(state: Any) -> GroupMember:
    return GroupMember(
        member_id=state["member_id"],
        instance_id=state["instance_id"],
        client_id=state["client_id"],
        client_host=state["client_host"],
        session_timeout_ms=UNKNOWN_MS,
        rebalance_timeout_ms=UNKNOWN_MS,
        is_alive=state["is_alive"],
        waits_for=state["waits_for"],
        partitions=_partitions(state["partitions"]),
        revoking=_partitions(state["revoking"]),
        target=_partitions(state["target"]),
        speaks=state["speaks"],
        epoch=state["epoch"],
        session_ends_in_ms=state["session_ends_in_ms"],
    )


def _rebalance(state: Any, group_type: str) -> SeenRebalance:
    return SeenRebalance(
        state["number"],
        state["generation"],
        state["cause"],
        state["actor"],
        state["outcome"],
        state["prepare_ms"],
        state["laggard"],
        state["began_ms_ago"] / 1000,
        words_of(group_type).version,
    )
