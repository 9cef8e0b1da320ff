"""Measures the page under load: `python -m tests.control.page_load [GROUPS] [MEMBERS] [RATE]`. Needs Chromium.

RATE is in events per second. Members of consumer groups join over one connection; then members leave and return. The
output is the time of the first picture, the delay of the page once a second, and the processor time of each process,
which does not depend on other load.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections import defaultdict
from pathlib import Path

import httpx

from kohort.whatif.clients.consumer_group_member import ConsumerMember
from tests.clients.serving import serving
from tests.support.chromium_tab import Tab, tab
from tests.support.wires import Blocking

SECONDS = 20
SHOWN = "document.getElementById('count').innerText"
HOUR_MS = "3600000"
SETTINGS = ("group.consumer.max.session.timeout.ms", "group.consumer.session.timeout.ms")


class Members:
    """All members of all groups, on one connection."""

    def __init__(self, bootstrap: str) -> None:
        self._wire = Blocking(int(bootstrap.rpartition(":")[2]))

    def joins(self, group: str, member: str) -> None:
        self._wire.says(_member(group, member).join(), member)

    def leaves_and_returns(self, group: str, member: str) -> None:
        """Let a member leave and return: the group rebalances twice."""
        self._wire.says(_member(group, member).leave(), member)
        self.joins(group, member)


def _member(group: str, name: str) -> ConsumerMember:
    return ConsumerMember(name, group, names=("orders",), member_id=name, rebalance_ms=60_000)


def processor_s() -> dict[str, float]:
    """Return the processor time of each type of child process so far."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    spent: dict[int, float] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                command = (place / "cmdline").read_text().split("\0")
            except OSError:
                continue  # it has ended
            process = int(place.name)
            parents[process] = int(fields[1])
            spent[process] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            kind = re.search(r"--type=(\w+)", " ".join(command))
            names[process] = "broker" if "serve" in command else f"browser ({kind[1]})" if kind else ""
    found: dict[str, float] = defaultdict(float)
    for process, name in names.items():
        above = process
        while above not in (0, os.getpid()):
            above = parents.get(above, 0)
        if above and name:
            found[name] += spent[process]
    return found


def since(before: dict[str, float]) -> dict[str, float]:
    """Return the processor time of each type since then."""
    return {name: spent - before.get(name, 0.0) for name, spent in processor_s().items()}


def main(groups: int = 500, members: int = 20, rate: int = 200) -> None:
    """Measure, and print the results."""
    given = [part for name in SETTINGS for part in ("--set", f"{name}={HOUR_MS}")]
    with serving(options=("--control", ":0", *given)) as ready, tab() as browser:
        bootstrap, _, control = ready.partition(" control=")
        http = httpx.Client(base_url=f"http://{control}", timeout=120)
        http.post("/topics", json={"name": "orders", "partitions": members}).raise_for_status()
        people = Members(bootstrap)
        for number in range(groups * members):
            people.joins(f"group-{number // members:03}", f"m-{number % members:02}")
        print(f"{groups} groups of {members} members are there")

        before, began = processor_s(), time.monotonic()
        browser.open(f"http://{control}/#group=group-000", 1400, 800)
        browser.until(f"{SHOWN} === '{groups} groups'")
        took_s = time.monotonic() - began
        print(f"first picture of all groups after {took_s:.2f} s; processor seconds: {told(since(before), 1)}")
        browser.until("document.querySelectorAll('#group tbody tr').length > 5")

        before, began = processor_s(), time.monotonic()
        made, behind = rebalances(people, http, browser, groups, members, rate)
        wall_s = time.monotonic() - began
        print(f"{made / wall_s:.0f} events a second for {wall_s:.0f} s")
        print("behind, second by second: " + " ".join(f"{item:.1f}" for item in behind))
        print(f"processors taken: {told(since(before), wall_s)}")


def rebalances(
    people: Members, http: httpx.Client, browser: Tab, groups: int, members: int, rate: int
) -> tuple[int, list[float]]:
    """Let members leave and return. Return the number of events, and the delay of the page in each second."""
    turn, begun, behind = 0, time.monotonic(), list[float]()
    first = last = last_event(http, f"group-{groups - 1:03}")  # who came last
    while last - first < SECONDS * rate:
        name = f"group-{turn % groups:03}"
        people.leaves_and_returns(name, f"m-{turn % members:02}")
        turn += 1
        if turn % 10 == 0:
            last = last_event(http, name)
            time.sleep(max(0.0, begun + (last - first) / rate - time.monotonic()))
        if time.monotonic() - begun > len(behind):
            behind.append(until_shown(browser, http, name))
    return last - first, behind


def until_shown(browser: Tab, http: httpx.Client, group: str) -> float:
    """Return how long it takes until the list shows the group's current state."""
    began = time.monotonic()
    generation = http.get(f"/groups/{group}").json()["generation"]
    row = f"[...document.querySelectorAll('#groups li')].find(each => each.innerText.includes('{group}'))?.innerText"
    browser.until(f"{row}?.includes('consumer {generation},')")
    return time.monotonic() - began


def last_event(http: httpx.Client, group: str) -> int:
    """Return the number of the group's last event; numbers have no gaps over all groups."""
    return int(http.get("/events/past", params={"group": group}).json()[-1]["seq"])


def told(computed: dict[str, float], wall_s: float) -> str:
    """Format processor seconds per second."""
    return ", ".join(f"{name} {spent / wall_s:.2f}" for name, spent in sorted(computed.items()) if spent > 0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
