"""The sticky task assignor, compared with the class of Kafka 4.3.0, and its guarantees."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations, product
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.coordinator.streams.streams_values import Tasks, TaskSets
from kohort.coordinator.streams.task_assignor import AssignorMember, assign, assigning
from kohort.coordinator.streams.task_assignor.load_queue import LoadQueue
from kohort.coordinator.streams.task_assignor.task_quota import TaskQuota
from tests.support.shared_folder import SHARED

RECORDED = (Path(__file__).parent / "task_assignments.jsonl").read_text().splitlines()
ALL = SHARED / "conformance" / "streams-assignments.jsonl"  # more cases, if the folder exists
CASES = [json.loads(line) for line in dict.fromkeys(RECORDED + (ALL.read_text().splitlines() if ALL.exists() else []))]
"""Recorded. `possible`: number of results by the order of members and processes, in which Kafka iterates hash maps;
`outcomes`: all results, if there are several. Both are unknown if there are too many.
"""

FEW = 4  # maximum number of members that are tried in all orders, together with all orders of their processes
MANY = 2000  # maximum number of tried orders of more members

Shares = dict[str, dict[str, dict[str, list[int]]]]
Task = tuple[str, int]


# What Kafka found


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))
def test_iteration_orders_give_kafka_results(case: dict[str, Any]) -> None:
    target, found = json.dumps(case["target"]), set()
    for orders in _orders(case):
        found.add(json.dumps(_shares(_assign(case, *orders))))
        if len(case["members"]) > FEW and target in found:
            break
    assert target in found
    if case["possible"] is not None:
        assert found <= {json.dumps(outcome) for outcome in case.get("outcomes", [case["target"]])}
        assert len(found) == case["possible"] or len(case["members"]) > FEW


def _orders(case: dict[str, Any]) -> Iterator[tuple[list[dict[str, str]], list[str]]]:
    ids = list(dict.fromkeys(member["process_id"] for member in case["members"]))
    if len(case["members"]) <= FEW:
        yield from product(map(list, permutations(case["members"])), list(map(list, permutations(ids))))
    chance = Random(case["case"])
    for _ in range(MANY if len(case["members"]) > FEW else 0):
        yield chance.sample(case["members"], len(case["members"])), chance.sample(ids, len(ids))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["case"]))
def test_sizes_and_stickiness_match_kafka(case: dict[str, Any]) -> None:
    shares = _shares(_assign(case, *next(_orders(case))))
    assert sorted(len(_tasks(share["active"])) for share in shares.values()) in case["active_sizes"]
    kept = sum(len(_active(case["previous"], share) & _tasks(shares[share]["active"])) for share in shares)
    assert case["kept"][0] <= kept <= case["kept"][1]
    standby = sum(len(_tasks(share["standby"])) for share in shares.values())
    assert case["standby_tasks"][0] <= standby <= case["standby_tasks"][1]


def _assign(case: dict[str, Any], members: Sequence[dict[str, str]], processes: Iterable[str]) -> dict[str, TaskSets]:
    nothing: dict[str, dict[str, list[int]]] = {"active": {}, "standby": {}}
    subscribed = {}
    for member in members:
        had = case["previous"].get(member["member_id"], nothing)
        subscribed[member["member_id"]] = AssignorMember(
            member["process_id"], _frozen(had["active"]), _frozen(had["standby"])
        )
    tasks = {item["id"]: item["tasks"] for item in case["subtopologies"]}
    stateful = frozenset(item["id"] for item in case["subtopologies"] if item["stateful"])
    by_process = {
        process_id: [member["member_id"] for member in members if member["process_id"] == process_id]
        for process_id in processes
    }
    return assign(subscribed, tasks, stateful, case["standby_replicas"], by_process)


def _frozen(tasks: dict[str, list[int]]) -> Tasks:
    return {subtopology_id: frozenset(partitions) for subtopology_id, partitions in tasks.items()}


def _shares(targets: Mapping[str, TaskSets]) -> Shares:
    """Return targets in the recorded form, sorted."""
    return {
        member_id: {
            "active": {item: sorted(targets[member_id].active[item]) for item in sorted(targets[member_id].active)},
            "standby": {item: sorted(targets[member_id].standby[item]) for item in sorted(targets[member_id].standby)},
        }
        for member_id in sorted(targets)
    }


def _tasks(tasks: Mapping[str, Iterable[int]]) -> set[Task]:
    return {(subtopology_id, partition) for subtopology_id, partitions in tasks.items() for partition in partitions}


def _active(shares: Shares, member_id: str) -> set[Task]:
    return _tasks(shares[member_id]["active"]) if member_id in shares else set()


# What holds for every group


@st.composite
def groups(draw: st.DrawFn) -> tuple[dict[str, AssignorMember], dict[str, int], frozenset[str], int]:
    """Generate members with arbitrary previous tasks, in any number of processes.

    The tasks may not exist any more, and copies may belong to other threads of the process.
    """
    tasks = {str(number): draw(st.integers(0, 8)) for number in range(draw(st.integers(1, 4)))}
    stateful = frozenset(task for task in tasks if draw(st.booleans()))
    size = draw(st.integers(1, 7))
    old = [(task, number) for task in [*tasks, "gone"] for number in range(6)]
    owners = draw(st.lists(st.integers(-1, size - 1), min_size=len(old), max_size=len(old)))
    holders = draw(st.lists(st.sets(st.integers(0, size - 1), max_size=2), min_size=len(old), max_size=len(old)))
    members = {}
    for number in range(size):
        members[f"m{number}"] = AssignorMember(
            f"p{draw(st.integers(0, 4))}",
            _grouped(task for task, owner in zip(old, owners, strict=True) if owner == number),
            _grouped(task for task, those in zip(old, holders, strict=True) if number in those),
        )
    return members, tasks, stateful, draw(st.integers(0, 3))


def _grouped(tasks: Iterable[Task]) -> Tasks:
    found: dict[str, set[int]] = {}
    for subtopology_id, partition in tasks:
        found.setdefault(subtopology_id, set()).add(partition)
    return {subtopology_id: frozenset(partitions) for subtopology_id, partitions in found.items()}


@given(group=groups())
def test_tasks_are_active_once(
    group: tuple[dict[str, AssignorMember], dict[str, int], frozenset[str], int],
) -> None:
    members, tasks, stateful, replicas = group
    targets = assign(*group)
    assert list(targets) == list(members)
    active = Counter(task for target in targets.values() for task in _tasks(target.active))
    assert active == {(each, number): 1 for each, count in tasks.items() for number in range(count)}
    copies = Counter(
        (members[member_id].process_id, task)
        for member_id, target in targets.items()
        for task in [*_tasks(target.active), *_tasks(target.standby)]
    )
    assert all(count == 1 for count in copies.values())
    standby = Counter(task for target in targets.values() for task in _tasks(target.standby))
    assert all(task[0] in stateful for task in standby)
    processes = len({member.process_id for member in members.values()})
    assert all(standby[task] == min(replicas, processes - 1) for task in active if task[0] in stateful)
    assert not any(target.warmup for target in targets.values())


@given(group=groups())
def test_members_keep_fair_quotas(
    group: tuple[dict[str, AssignorMember], dict[str, int], frozenset[str], int],
) -> None:
    members, tasks, _, _ = group
    targets = assign(*group)
    total = sum(tasks.values())
    for member_id, member in members.items():
        had = {(each, number) for each, number in _tasks(member.active) if number < tasks.get(each, 0)}
        kept = had & _tasks(targets[member_id].active)
        assert len(kept) <= -(-total // len(members))
        assert len(kept) >= min(len(had), total // len(members))


@given(group=groups())
def test_single_threads_balance_active_tasks(
    group: tuple[dict[str, AssignorMember], dict[str, int], frozenset[str], int],
) -> None:
    members, tasks, stateful, replicas = group
    alone = {each: AssignorMember(each, member.active, member.standby) for each, member in members.items()}
    targets = assign(alone, tasks, stateful, replicas)
    sizes = [len(_tasks(target.active)) for target in targets.values()]
    assert max(sizes) - min(sizes) <= 1


@given(group=groups())
def test_previous_assignment_is_kept(
    group: tuple[dict[str, AssignorMember], dict[str, int], frozenset[str], int],
) -> None:
    members, tasks, stateful, _ = group
    first = assign({member: AssignorMember(member) for member in members}, tasks, stateful, 0)
    again = {member: AssignorMember(member, first[member].active) for member in members}
    assert assign(again, tasks, stateful, 0) == first


def test_standby_owner_takes_over() -> None:
    members = {
        "ada": AssignorMember("p1", {"0": frozenset({0, 2})}, {"0": frozenset({1, 3})}),
        "bob": AssignorMember("p2", {}, {"0": frozenset({4})}),
        "cleo": AssignorMember("p3", {}, {"0": frozenset({5})}),
    }
    targets = assign(members, {"0": 6}, frozenset({"0"}), 1)
    assert {member_id: sorted(target.active["0"]) for member_id, target in targets.items()} == {
        "ada": [0, 2],
        "bob": [1, 4],
        "cleo": [3, 5],
    }


def test_empty_group_has_no_tasks() -> None:
    assert assign({}, {"0": 4}, frozenset({"0"}), 1) == {}


def test_long_assignment_yields_regularly() -> None:
    members = {f"m{number}": AssignorMember(f"p{number % 50}") for number in range(200)}
    steps = list(assigning(members, {str(number): 1000 for number in range(10)}, frozenset({"1", "2"}), 1))
    assert max(steps) <= 2000
    assert sum(steps) >= 10 * 12_000


# Its parts


@given(loads=st.lists(st.integers(0, 5), min_size=1), turns=st.lists(st.integers(0, 3), max_size=40))
def test_queue_head_has_least_load(loads: list[int], turns: list[int]) -> None:
    queue: LoadQueue[int] = LoadQueue()
    waiting = dict(enumerate(loads))
    for number, load in waiting.items():
        queue.put(load, number)
    for more in turns:
        head = queue.take()
        assert waiting[head] == min(waiting.values())
        waiting[head] += more
        queue.put(waiting[head], head)
        assert len(queue) == len(loads)


def test_equal_loads_keep_java_order() -> None:
    queue: LoadQueue[str] = LoadQueue()
    counts = dict.fromkeys("abc", 0)
    for name in counts:
        queue.put(0, name)
    taken = []
    for _ in range(9):
        taken.append(queue.take())
        counts[taken[-1]] += 1
        queue.put(counts[taken[-1]], taken[-1])
    assert "".join(taken) == "acbcbabac"


def test_quota_shrinks_as_members_fill() -> None:
    quota = TaskQuota(7, 3)
    assert quota.share == 3
    quota.note(2)
    assert quota.share == 3
    quota.note(3)
    assert quota.share == 2
    quota.note(2)
    quota.note(2)
    assert quota.share == 0
