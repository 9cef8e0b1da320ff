"""Alerts about open rebalances: stories, checked every second, and recordings of real Kafkas."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from kohort.pipeline.history.inputs import GroupInput
from kohort.pipeline.live.open_rebalances import OpenRebalances
from kohort.pipeline.live.waited_for import KnownGroup, MemberCommits
from kohort.pipeline.sources.seen_groups import COMPLETING, PREPARING, RECONCILING, SeenGroup, SeenMember
from tests.pipeline.incidents.recorded import Recorded
from tests.pipeline.replayed_groups import alerts_of

START_MS = 1_700_000_000_000
ADA, BOB, EVE = (SeenMember(f"{name}-id", name, f"/10.0.0.{at}") for at, name in enumerate(("ada", "bob", "eve"), 7))
EVERYBODY = frozenset({"ada-id", "bob-id", "eve-id"})


class Story:
    """One group. `looks` checks it every second for this long, and returns the alerts."""

    def __init__(self, known: KnownGroup | None = None) -> None:
        self.now_ms, self.known, self.asked = START_MS, known or KnownGroup(members=EVERYBODY, eager=True), 0
        self.rebalances = OpenRebalances(self._ask)

    def _ask(self, since: Mapping[str, int]) -> dict[str, KnownGroup]:
        self.asked += 1
        return dict.fromkeys(since, self.known)

    def looks(
        self, seconds: int, state: str | None, *members: SeenMember, epoch: int = -1, silent: bool = False
    ) -> list[str]:
        told = []
        groups = [] if state is None else [SeenGroup("orders", state, "b:1", members, epoch)]
        for _ in range(seconds):
            told += self.rebalances.look(self.now_ms, groups, {"b:1"} if silent else ())
            self.now_ms += 1_000
        return [f"{each.kind}: {each.text}" for each in told]

    def commits(self, **last_s: tuple[float, float]) -> None:
        """Set, by member, the seconds of the last commit after the start and between two commits."""
        commits = {
            f"{name}-id": MemberCommits(START_MS + round(1000 * at), round(1000 * usual))
            for name, (at, usual) in last_s.items()
        }
        self.known = KnownGroup(START_MS - 60_000, EVERYBODY, "ada-id", True, commits)


def test_sole_previous_member_is_named() -> None:
    story = Story(KnownGroup(members=frozenset({"ada-id"})))
    assert story.looks(10, PREPARING, ADA, BOB) == []
    assert story.looks(1, PREPARING, ADA, BOB) == ["rebalance_open: rebalance open 10 s, waiting for ada on /10.0.0.7"]
    assert story.looks(60, PREPARING, ADA, BOB) == []
    assert story.looks(1, None) == ["rebalance_over: rebalance ended after 71 s; it waited for ada on /10.0.0.7"]
    assert story.looks(60, None) == []


def test_committing_member_has_not_rejoined() -> None:
    story = Story()
    story.commits(ada=(1, 1), bob=(9, 1), eve=(2, 1))
    assert story.looks(11, PREPARING, ADA, BOB, EVE) == [
        "rebalance_open: rebalance open 10 s, most likely waiting for bob on /10.0.0.8: it still commits, so it has not "
        "joined again"
    ]


def test_stopped_member_is_probably_stuck() -> None:
    story = Story()
    story.commits(ada=(1, 1), bob=(-8, 1), eve=(2, 1))
    (alert,) = story.looks(11, PREPARING, ADA, BOB, EVE)
    assert "most likely waiting for bob on /10.0.0.8" in alert


def test_rare_commits_blame_no_member() -> None:
    story = Story()
    story.commits(ada=(1, 1), bob=(-40, 60), eve=(2, 1))
    (alert,) = story.looks(11, PREPARING, ADA, BOB, EVE)
    assert "waiting for one or more of bob on /10.0.0.8" in alert


def test_cooperative_group_blames_no_member() -> None:
    # its members continue to commit during the rebalance
    story = Story()
    story.commits(ada=(1, 1), bob=(9, 1), eve=(2, 1))
    story.known = KnownGroup(story.known.generation_ms, EVERYBODY, "ada-id", False, story.known.commits)
    (alert,) = story.looks(11, PREPARING, ADA, BOB, EVE)
    assert alert.endswith("Kafka doesn't report which members have joined")
    assert all(str(each) in alert for each in (ADA, BOB, EVE))


def test_event_log_gives_exact_members() -> None:
    story = Story(KnownGroup(members=EVERYBODY, waited_for=frozenset({"eve-id"})))
    assert story.looks(11, PREPARING, ADA, BOB, EVE) == [
        "rebalance_open: rebalance open 10 s, waiting for eve on /10.0.0.9"
    ]


def test_new_details_update_the_alert() -> None:
    story = Story()
    (vague,) = story.looks(11, PREPARING, ADA, BOB, EVE)
    assert "waiting for one or more of" in vague
    story.commits(ada=(1, 1), bob=(11, 1), eve=(2, 1))
    (sure,) = story.looks(5, PREPARING, ADA, BOB, EVE)
    assert "most likely waiting for bob" in sure
    assert story.looks(30, PREPARING, ADA, BOB, EVE) == []


def test_joined_group_waits_for_leader() -> None:
    story = Story(KnownGroup(members=EVERYBODY, leader="bob-id"))
    assert story.looks(4, PREPARING, ADA, BOB) == []
    assert story.looks(10, COMPLETING, ADA, BOB) == []
    (alert,) = story.looks(1, COMPLETING, ADA, BOB)
    assert "most likely waiting for bob on /10.0.0.8: it leads the group" in alert


def test_consecutive_rebalances_are_not_open() -> None:
    story = Story()
    for _ in range(20):
        assert story.looks(4, PREPARING, ADA, BOB) == []
        assert story.looks(1, COMPLETING, ADA, BOB) == []
        assert story.looks(1, None) == []


def test_missed_generation_ends_open_rebalance() -> None:
    story = Story()
    assert story.looks(8, PREPARING, ADA, BOB, EVE) == []
    story.known = KnownGroup(START_MS + 7_500, EVERYBODY, eager=True)
    assert story.looks(9, PREPARING, ADA, BOB, EVE) == []
    (alert,) = story.looks(3, PREPARING, ADA, BOB, EVE)
    assert alert.startswith("rebalance_open: rebalance open 10 s")


def test_initial_rebalance_delay_is_allowed() -> None:
    story = Story(KnownGroup())
    assert story.looks(30, PREPARING, ADA, BOB) == []
    (alert,) = story.looks(3, PREPARING, ADA, BOB)
    assert "it is unknown which members it waits for" in alert


def test_unresponsive_broker_does_not_end_it() -> None:
    story = Story(KnownGroup(members=frozenset({"ada-id"})))
    assert len(story.looks(11, PREPARING, ADA, BOB)) == 1
    assert story.looks(20, None, silent=True) == []
    assert story.looks(1, PREPARING, ADA, BOB) == []
    assert len(story.looks(1, None)) == 1


def test_unobserved_time_does_not_count() -> None:
    story = Story(KnownGroup(members=frozenset({"ada-id"})))
    assert story.looks(8, PREPARING, ADA, BOB) == []
    story.now_ms += 600_000
    assert story.looks(10, PREPARING, ADA, BOB) == []
    assert story.looks(1, PREPARING, ADA, BOB) == ["rebalance_open: rebalance open 10 s, waiting for ada on /10.0.0.7"]


def test_broker_log_gives_exact_start() -> None:
    story = Story(KnownGroup(members=frozenset({"ada-id"}), started_ms=START_MS - 1_700))
    (alert,) = story.looks(11, PREPARING, ADA, BOB)
    assert alert == "rebalance_open: rebalance open 11 s, waiting for ada on /10.0.0.7"


def consumer(name: str, epoch: int, owned: set[int], target: set[int]) -> SeenMember:
    def parts(numbers: set[int]) -> frozenset[tuple[str, int]]:
        return frozenset(("orders", number) for number in numbers)

    return SeenMember(f"{name}-id", name, "/10.0.0.7", None, epoch, parts(owned), parts(target))


def test_unrevoked_partitions_name_their_owner() -> None:
    story = Story()
    group = consumer("ada", 3, {0, 1, 2}, {0}), consumer("bob", 4, set(), {1, 2})
    assert story.looks(15, RECONCILING, *group, epoch=4) == []
    assert story.looks(1, RECONCILING, *group, epoch=4) == [
        "rebalance_open: rebalance open 15 s, waiting for ada on /10.0.0.7 to revoke orders-1 and 1 more"
    ]
    assert story.asked == 0


def test_silent_member_is_named() -> None:
    story = Story()
    group = consumer("ada", 4, {0}, {0}), consumer("bob", 3, {1}, {1})
    (alert,) = story.looks(16, RECONCILING, *group, epoch=4)
    assert alert == "rebalance_open: rebalance open 15 s, waiting for bob on /10.0.0.7 to receive the new epoch"


def test_rolling_restart_is_no_open_rebalance() -> None:
    story = Story()
    for epoch in range(4, 20):
        late = epoch % 3
        members = [consumer(f"c-{n}", epoch - (n == late), {n}, {n}) for n in range(3)]
        assert story.looks(8, RECONCILING, *members, epoch=epoch) == []


@pytest.mark.parametrize("name", ["classic-kafka-4.3", "kafka-4.3"])
def test_kafka_incidents_have_no_open_rebalance(incidents: Callable[[str], Recorded], name: str) -> None:
    # the longest wait in these recordings is 9 s
    groups = incidents(name).groups.values()
    assert {group.group_id: [each.text for each in alerts] for group in groups if (alerts := alerts_of(group))} == {}


@pytest.fixture(scope="module")
def consumers(incidents: Callable[[str], Recorded]) -> dict[str, GroupInput]:
    return incidents("kafka-4.3").groups


@pytest.mark.parametrize(("group", "client"), [("held-back", "c-2"), ("never-given-up", "c-2")])
def test_recorded_holder_is_named(consumers: dict[str, GroupInput], group: str, client: str) -> None:
    alerts = alerts_of(consumers[group], held_up_ms=4_000)
    assert [each.kind for each in alerts] == ["rebalance_open", "rebalance_over"]
    assert f"waiting for {client} on /127.0.0.1 to revoke " in alerts[0].text


@pytest.mark.parametrize("group", ["quiet", "idle", "mixed-settings", "rolling"])
def test_nothing_is_told_of_the_healthy(consumers: dict[str, GroupInput], group: str) -> None:
    assert alerts_of(consumers[group], open_ms=4_000, held_up_ms=4_000) == []


NAMED = {"one-slow-member": "c-2", "frozen-at-barrier": "c-1", "slow-beyond-poll": "c-3", "slow-but-cooperative": None}


@pytest.mark.parametrize("group", NAMED)
def test_only_slow_members_are_named(recorded_groups: dict[str, GroupInput], group: str) -> None:
    told = [alert.text for alert in alerts_of(recorded_groups[group], open_ms=4_000) if alert.kind == "rebalance_open"]
    assert told
    named = [text.partition("waiting for ")[2].partition(" on ")[0] for text in told if "one or more" not in text]
    assert set(named) == ({NAMED[group]} if NAMED[group] else set())


def test_quiet_groups_raise_no_alert(recorded_groups: dict[str, GroupInput]) -> None:
    stalled = {"one-slow-member", "frozen-at-barrier", "slow-but-cooperative"}
    told = {name: alerts_of(group) for name, group in recorded_groups.items() if name not in stalled}
    assert {name: alerts for name, alerts in told.items() if alerts} == {}
