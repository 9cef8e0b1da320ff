"""A consumer does not revoke a partition, and its next owner waits.

In groups of the consumer protocol a partition moves when its owner confirms the revocation. A consumer that hangs in
its revocation callback sends heartbeats but does not confirm. Its successor waits, and no other member. The group names
the consumer, and fences it after its rebalance timeout (`max.poll.interval.ms`, five minutes).
"""

from __future__ import annotations

import threading
from typing import Any

from examples.rolling import PATIENCE_S, Fleet


def test_group_names_delaying_member(kafka: Any) -> None:
    kafka.topics.create("orders", partitions=4)
    group, released = kafka.group("billing"), threading.Event()
    with Fleet(kafka.bootstrap, "billing", "orders") as fleet:
        fleet.start("ada", "consumer", on_revoke=lambda *_: released.wait(PATIENCE_S))
        group.wait_stable(members=1)
        fleet.start("bob", "consumer")
        group.wait_for(lambda: any(member.revoking for member in group.members))
        (wait,) = group.explain().waits
        assert wait.for_whom == ("ada",)
        assert wait.what.startswith("to revoke orders ")
        assert wait.what.endswith(", which bob is to get")
        assert 290_000 < wait.ends_in_ms <= 300_000
        assert len(group.member("ada").partitions["orders"]) == 2, "it may keep reading its remaining partitions"
        assert group.member("bob").waits_for == "partitions"
        assert group.history[-1].laggard == "ada"

        kafka.clock.advance(
            minutes=5, patience=0
        )  # ada still sends heartbeats: advance would wait for ada, and ada waits for the test
        group.wait_for(lambda: [member.client_id for member in group.members] == ["bob"])
        group.wait_stable(members=1)
        assert len(group.member("bob").partitions["orders"]) == 4
        held_up, after = group.history[-2:]
        assert (held_up.laggard, held_up.outcome) == ("ada", "superseded")
        assert (after.cause, after.actor) == ("epoch timeout", "ada")
        released.set()
        group.wait_stable(members=2)
