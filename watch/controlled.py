"""Looks at a kohort through its control address, which shows more than Kafka's protocol: timers, causes, faults."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from http.client import HTTPException
from types import GenericAlias, UnionType
from typing import Any, get_args, get_origin, get_type_hints
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from kohort.broker.control_token import headers
from kohort.broker.control_url import control_url, shown
from kohort.broker.json_answer import read_json
from kohort.protocol.topic_partition import TopicPartition
from kohort.watch.client import ANSWER_S, BrokerError
from kohort.watch.snapshot import CLASSIC, SHARE, SeenGroup, SeenMember, SeenRebalance, SeenShare, SeenWait, Snapshot


class Controlled:
    """The cluster behind a control address."""

    def __init__(self, address: str, pattern: str = "*", token: str = "") -> None:
        """`address`: HOST:PORT, perhaps with `http://` or `https://` before it. `pattern`: which groups.

        `token`: empty: none.
        """
        self._address = shown(address)
        self._pattern, self._token = pattern, token

    async def look(self, at: float) -> Snapshot:
        """What there is now. Raises BrokerError when nobody answers, or somebody else than kohort."""
        state = await asyncio.to_thread(self._ask)
        try:
            snapshot = _snapshot(state, at)
            check(snapshot, Snapshot)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise BrokerError(f"what answers at {self._address} is no control address of kohort's") from None
        return snapshot

    def close(self) -> None:
        """There is nothing to hang up."""

    def _ask(self) -> Any:
        asked = f"{control_url(self._address)}/overview?{urlencode({'groups': self._pattern})}"
        try:
            with urlopen(Request(asked, headers=headers(self._token)), timeout=ANSWER_S) as answer:
                return read_json(answer)
        except HTTPError as problem:
            raise BrokerError(_refusal(self._address, problem)) from None
        except (OSError, HTTPException) as problem:
            reason = getattr(problem, "reason", problem)
            raise BrokerError(f"{self._address} does not answer: {reason}") from None
        except ValueError:
            raise BrokerError(f"what answers at {self._address} is no control address of kohort's") from None


def check(value: object, kind: Any) -> None:
    """Raises TypeError unless a value has the type that it is declared to have, down to its last field."""
    inner = get_args(kind)
    if isinstance(kind, UnionType):
        kind = next((each for each in inner if (each is type(None)) == (value is None)), None)
        return check(value, kind)
    if get_origin(kind) is tuple and isinstance(value, tuple):
        wanted = inner[:1] * len(value) if inner[-1] is Ellipsis else inner
        for each, of in zip(value, wanted, strict=True):
            check(each, of)
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
        raise TypeError(f"{value!r} is no {kind}")
    return None


def _refusal(address: str, problem: HTTPError) -> str:
    try:
        detail = read_json(problem)["detail"]
    except (OSError, ValueError, KeyError, TypeError):
        detail = None
    if problem.code == 401 and isinstance(detail, str):
        return f"{detail}; give it with --token or KOHORT_CONTROL_TOKEN"
    return f"what answers at {address} is no control address of kohort's: {problem}"


def _snapshot(state: Any, at: float) -> Snapshot:
    clock = f"clock {state['now_ms'] / 1000:,.1f} s"
    if state["paused"]:
        clock += ", paused"
    elif state["scale"] != 1:
        clock += f", {state['scale']:g} times as fast"
    return Snapshot(
        at,
        state["brokers"],
        tuple(_group(each) for each in state["groups"]),
        laboratory=(clock, *state["rules"], *state["gates"]),
    )


def _group(state: Any) -> SeenGroup:
    return SeenGroup(
        state["id"],
        state["state"],
        state["coordinator"] if state["coordinator"] is not None else -1,
        state["protocol"],
        state["type"],
        tuple(_member(each, state["type"]) for each in state["members"]),
        epoch=None if state["type"] == CLASSIC else state["generation"],
        target_epoch=None if state["type"] == CLASSIC else state["assignment_epoch"],
        lags={(topic, int(part)): lag for topic, lags in state["lags"].items() for part, lag in lags.items()},
        waits=tuple(
            SeenWait(", ".join(each["for_whom"]), each["what"], each["ends_in_ms"], each["then"])
            for each in state["waits"]
        ),
        rebalances=tuple(_rebalance(each, state["type"]) for each in state["rebalances"]),
        shares=tuple(
            SeenShare((each["topic"], each["partition"]), each["start_offset"], each["lag"], each["acquired"])
            for each in state.get("shared", ())  # older brokers have no share groups
            if each["start_offset"] is not None
        ),
    )


def _partitions(state: Any) -> tuple[TopicPartition, ...]:
    return tuple((topic, part) for topic, parts in state.items() for part in parts)


def _member(state: Any, group_type: str) -> SeenMember:
    is_classic, reconciles = group_type == CLASSIC, group_type not in (CLASSIC, SHARE)
    return SeenMember(
        state["member_id"],
        state["client_id"],
        state["client_host"],
        state["instance_id"],
        (*_partitions(state["partitions"]), *_partitions(state["revoking"])),
        target=_partitions(state["target"]) if reconciles else None,
        epoch=None if is_classic else state["epoch"],
        speaks=state["speaks"] if reconciles else "",
        session_ends_in_ms=state["session_ends_in_ms"],
        is_alive=state["is_alive"],
        waits_for=state["waits_for"],
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
        "generation" if group_type == CLASSIC else "epoch",
    )
