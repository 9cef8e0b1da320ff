"""What must never be is noticed, and what may be is not."""

from kohort.control import assignments
from kohort.control.safety import Budget
from tests.control.talking import Lab

SHARED = "{protocols: {range: subscription(t)}, shares: {ada: assignment(t:0), bob: assignment(t:1)}}"


def watched(lab: Lab, budget: Budget | None = None) -> Lab:
    lab.laboratory.watch_safety(budget or Budget())
    lab.laboratory.cluster.topics.create("t", 2)
    return lab


def violations(lab: Lab) -> list[str]:
    assert lab.laboratory.safety is not None
    return lab.laboratory.safety.finish()


def test_a_healthy_group_violates_nothing(lab: Lab) -> None:
    watched(lab, Budget(unowned_ms=0))
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 5}}}}}}
          <- {{topics: [...]}}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 5}}}}}}
          <- {{topics: [...]}}
        """)
    assert violations(lab) == []


def test_two_owners_in_one_generation(lab: Lab) -> None:
    watched(lab)
    lab.faults.on("SyncGroup").assign(assignments.everything_to_everybody())
    lab.talk(f"given ada, bob share a stable group {SHARED}")
    found = violations(lab)
    assert len(found) == 2
    assert found[0].startswith(f"group {lab.name('group')}, generation 2: t-")
    assert " and bob-" in found[0]


def test_two_owners_that_the_test_wants(lab: Lab) -> None:
    watched(lab, Budget(two_owners=True))
    lab.faults.on("SyncGroup").assign(assignments.everything_to_everybody())
    lab.talk(f"given ada, bob share a stable group {SHARED}")
    assert violations(lab) == []


def test_a_commit_that_goes_back(lab: Lab) -> None:
    watched(lab)
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 50}}}}}}
          <- {{topics: [...]}}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 40}}}}}}
          <- {{topics: [...]}}
        """)
    (found,) = violations(lab)
    assert found.endswith("set t-0 back from 50 to 40")


def test_a_commit_that_is_refused_is_none(lab: Lab) -> None:
    watched(lab)
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 50}}}}}}
          <- {{topics: [...]}}
        bob OffsetCommit v8 {{generation_id: 1, offsets: {{t: {{0: 40}}}}}}
          <- {{topics: [{{partitions: [{{error_code: ILLEGAL_GENERATION}}]}}]}}
        """)
    assert violations(lab) == []


def test_a_partition_that_is_nobodys_for_too_long(lab: Lab) -> None:
    watched(lab, Budget(unowned_ms=1_000))
    lab.talk("""
        given ada shares a stable group {protocols: {range: subscription(t)}, shares: {ada: assignment(t:0)}}
        wait 1500 ms
        """)
    (found,) = violations(lab)
    assert found == f"group {lab.name('group')}: t-1 was nobody's for 1500 ms, allowed are 1000"
