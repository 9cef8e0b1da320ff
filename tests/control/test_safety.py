"""Violations are detected, and allowed behaviour is not reported."""

from kohort.control.faults import assignments
from kohort.control.oracle.safety import Budget
from tests.control.talking import Lab
from tests.support.batches import batch

SHARED = "{protocols: {range: subscription(t)}, shares: {ada: assignment(t:0), bob: assignment(t:1)}}"


def watched(lab: Lab, budget: Budget | None = None) -> Lab:
    lab.laboratory.watch_safety(budget or Budget())
    lab.laboratory.cluster.topics.create("t", 2)
    return lab


def test_healthy_group_has_no_violation(lab: Lab) -> None:
    watched(lab, Budget(unowned_ms=0))
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 5}}}}}}
          <- {{topics: [...]}}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 5}}}}}}
          <- {{topics: [...]}}
        """)
    assert lab.violations() == []


def test_two_owners_in_one_generation(lab: Lab) -> None:
    watched(lab)
    lab.faults.on("SyncGroup").assign(assignments.everything_to_everybody())
    lab.talk(f"given ada, bob share a stable group {SHARED}")
    found = lab.violations()
    assert len(found) == 2
    assert found[0].startswith(f"group {lab.name('group')}, generation 2: t-")
    assert " and bob-" in found[0]


def test_two_owners_that_the_test_wants(lab: Lab) -> None:
    watched(lab, Budget(two_owners=True))
    lab.faults.on("SyncGroup").assign(assignments.everything_to_everybody())
    lab.talk(f"given ada, bob share a stable group {SHARED}")
    assert lab.violations() == []


def test_backward_commit(lab: Lab) -> None:
    watched(lab)
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 50}}}}}}
          <- {{topics: [...]}}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 40}}}}}}
          <- {{topics: [...]}}
        """)
    (found,) = lab.violations()
    assert found.endswith("set t-0 back from 50 to 40 (@pytest.mark.kafka(safety=Budget(backwards=True)) allows this)")


def test_backward_commit_after_repeated_ones(lab: Lab) -> None:
    watched(lab)
    lab.talk(f"given ada, bob share a stable group {SHARED}")
    for offset in (10, 20, 30, 40, 5):
        lab.talk(f"""
            ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: {offset}, 1: {offset}}}}}}}
              <- {{topics: [...]}}
            """)
    (backwards,) = [violation for violation in lab.violations() if "set t-0 back" in violation]
    assert "from 40 to 5" in backwards
    assert len([violation for violation in lab.violations() if "which belongs to bob-" in violation]) == 5


def test_rejected_repeated_commit_is_ignored(lab: Lab) -> None:
    watched(lab)
    lab.talk(f"given ada, bob share a stable group {SHARED}")
    for offset, generation, error in ((50, 2, "NONE"),) * 3 + ((40, 1, "ILLEGAL_GENERATION"),) * 4:
        lab.talk(f"""
            ada OffsetCommit v8 {{generation_id: {generation}, offsets: {{t: {{0: {offset}}}}}}}
              <- {{topics: [{{partitions: [{{error_code: {error}}}]}}]}}
            """)
    assert lab.violations() == []


def test_rejected_commit_is_ignored(lab: Lab) -> None:
    watched(lab)
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 50}}}}}}
          <- {{topics: [...]}}
        bob OffsetCommit v8 {{generation_id: 1, offsets: {{t: {{0: 40}}}}}}
          <- {{topics: [{{partitions: [{{error_code: ILLEGAL_GENERATION}}]}}]}}
        """)
    assert lab.violations() == []


def test_partition_unowned_too_long(lab: Lab) -> None:
    watched(lab, Budget(unowned_ms=1_000))
    lab.talk("""
        given ada shares a stable group {protocols: {range: subscription(t)}, shares: {ada: assignment(t:0)}}
        wait 1500 ms
        """)
    (found,) = lab.violations()
    assert found.startswith(f"group {lab.name('group')}: t-1 had no owner for 1500 ms, longer than 1000 ms")
    assert found.endswith("Budget(unowned_ms=1500)) allows this)")


AT_50 = """
    given ada shares a stable group {protocols: {range: subscription(t)}, shares: {ada: assignment(t:0)}}
    ada OffsetCommit v8 {generation_id: 1, offsets: {t: {0: 50}}}
      <- {topics: [...]}
    ada LeaveGroup v1
      <- NONE
    """  # then no member is left
BACK_TO_40 = """
    given bob shares a stable group {protocols: {range: subscription(t)}, shares: {bob: assignment(t:0)}}
    bob OffsetCommit v8 {generation_id: 3, offsets: {t: {0: 40}}}
      <- {topics: [{partitions: [{error_code: NONE}]}]}
    """


def test_members_continue_at_committed_offsets(lab: Lab) -> None:
    watched(lab)
    lab.talk(AT_50)
    lab.talk(BACK_TO_40)
    assert len(lab.violations()) == 1


def test_operator_may_reset_group(lab: Lab) -> None:
    watched(lab)
    lab.talk(AT_50)
    lab.talk("""
        operator OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {t: {0: 30}}}
          <- {topics: [{partitions: [{error_code: NONE}]}]}
        """)
    lab.talk(BACK_TO_40)
    assert lab.violations() == []


def test_deleted_offsets_may_be_committed_again(lab: Lab) -> None:
    watched(lab)
    lab.talk(AT_50)
    lab.talk("operator OffsetDelete v0 {offsets: {t: [0]}}\n  <- {topics: [...]}")
    lab.talk(BACK_TO_40)
    assert lab.violations() == []


def test_recreated_topic_resets_commits(lab: Lab) -> None:
    watched(lab)
    lab.talk(AT_50)
    topics = lab.laboratory.cluster.topics
    old = topics.by_name("t")
    assert old is not None
    topics.delete(old)
    topics.create("t", 2)
    lab.talk(BACK_TO_40)
    assert lab.violations() == []


def test_empty_group_may_leave_partitions_unowned(lab: Lab) -> None:
    watched(lab, Budget(unowned_ms=1_000))
    lab.talk(AT_50)  # t-1 has no owner, but for 0 ms
    lab.talk("wait 60000 ms")
    assert lab.violations() == []


# Commits for partitions of others


def test_commit_for_partition_of_other_member(lab: Lab) -> None:
    watched(lab)
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{1: 5}}}}}}
          <- {{topics: [{{partitions: [{{error_code: NONE}}]}}]}}
        """)
    (found,) = lab.violations()
    assert "committed t-1, which belongs to bob-" in found
    assert "Budget(others_partitions=True)" in found


def test_one_that_the_test_wants(lab: Lab) -> None:
    watched(lab, Budget(others_partitions=True))
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{1: 5}}}}}}
          <- {{topics: [{{partitions: [{{error_code: NONE}}]}}]}}
        """)
    assert lab.violations() == []


def test_revoking_member_may_still_commit(lab: Lab) -> None:
    watched(lab)
    lab.talk("""
        given ada, bob share a stable group {protocols: {range: subscription(t)}, shares: {ada: assignment(t:0)}}
        ada OffsetCommit v8 {generation_id: 2, offsets: {t: {1: 5}}}
          <- {topics: [{partitions: [{error_code: NONE}]}]}
        """)
    assert lab.violations() == []


def test_owner_commits_during_rebalance(lab: Lab) -> None:
    watched(lab)
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        bob JoinGroup v9 {{protocols: {{range: new}}}}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 5}}}}}}
          <- {{topics: [{{partitions: [{{error_code: NONE}}]}}]}}
        """)
    assert lab.violations() == []


# Commits beyond the end of the log


def given_records(lab: Lab, count: int) -> None:
    """Append this many records to partition t-0."""
    cluster = lab.laboratory.cluster
    topic = cluster.topics.by_name("t")
    assert topic is not None
    for number in range(count):
        cluster.append(topic.partitions[0], batch(b"%d" % number), 0)


def test_commit_beyond_log_end(lab: Lab) -> None:
    watched(lab)
    given_records(lab, 3)
    lab.talk(f"""
        given ada, bob share a stable group {SHARED}
        ada OffsetCommit v8 {{generation_id: 2, offsets: {{t: {{0: 3}}}}}}
          <- {{topics: [...]}}
        """)
    assert lab.violations() == []
    lab.talk("""
        ada OffsetCommit v8 {generation_id: 2, offsets: {t: {0: 4000}}}
          <- {topics: [...]}
        """)
    (found,) = lab.violations()
    assert found.endswith("whose log ends at 3 (@pytest.mark.kafka(safety=Budget(beyond_end=True)) allows this)")


def test_operator_may_set_any_offset(lab: Lab) -> None:
    watched(lab)
    given_records(lab, 3)
    lab.talk("""
        operator OffsetCommit v8 {generation_id: -1, member_id: "", offsets: {t: {0: 4000}}}
          <- {topics: [{partitions: [{error_code: NONE}]}]}
        """)
    assert lab.violations() == []


# Commits in transactions

IN_A_TRANSACTION = """
    producer FindCoordinator v4 {key_type: 1, coordinator_keys: [$txn]}
      <- eventually {coordinators: [{key: $txn, error_code: NONE}]}
    producer InitProducerId v4 {transactional_id: $txn, transaction_timeout_ms: 60000}
      <- eventually NONE {producer_id: $producer, producer_epoch: $epoch}
    """


def commits(lab: Lab, *offsets: int, committed: bool, error: str = "NONE") -> None:
    """Commit a transaction of the producer with these commits, one after the other."""
    lines = [
        "producer AddOffsetsToTxn v3 {transactional_id: $txn, producer_id: $producer, producer_epoch: $epoch, "
        "group_id: $group}\n  <- eventually NONE"
    ]
    lines += [
        "producer TxnOffsetCommit v3 {producer_id: $producer, producer_epoch: $epoch, "
        f'generation_id: -1, member_id: "", offsets: {{t: {{0: {offset}}}}}}}\n'
        f"  <- {{topics: [{{partitions: [{{error_code: {error}}}]}}]}}"
        for offset in offsets
    ]
    ends = "true" if committed else "false"
    lines.append(
        "producer EndTxn v3 {transactional_id: $txn, producer_id: $producer, producer_epoch: $epoch, "
        f"committed: {ends}}}\n  <- NONE\nwait 1000 ms"
    )
    lab.talk("\n".join(lines))


def test_backward_commit_in_transaction(lab: Lab) -> None:
    watched(lab)
    lab.talk(IN_A_TRANSACTION)
    commits(lab, 50, committed=True)
    commits(lab, 60, committed=True)
    assert lab.violations() == []
    commits(lab, 40, committed=True)
    (found,) = lab.violations()
    assert found.endswith("set t-0 back from 60 to 40 (@pytest.mark.kafka(safety=Budget(backwards=True)) allows this)")


def test_backward_commit_within_one_transaction(lab: Lab) -> None:
    watched(lab)
    lab.talk(IN_A_TRANSACTION)
    commits(lab, 50, 40, committed=True)
    (found,) = lab.violations()
    assert found.endswith("set t-0 back from 50 to 40 (@pytest.mark.kafka(safety=Budget(backwards=True)) allows this)")


def test_aborted_commit_may_be_repeated(lab: Lab) -> None:
    watched(lab)
    lab.talk(IN_A_TRANSACTION)
    commits(lab, 50, committed=True)
    commits(lab, 90, committed=False)
    commits(lab, 60, committed=True)
    assert lab.violations() == []
