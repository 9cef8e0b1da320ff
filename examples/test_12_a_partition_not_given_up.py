"""A consumer does not give up a partition, and who is to get it waits.

In groups of the consumer protocol a partition changes hands when its owner says that it has let go. A consumer that
hangs in its revocation callback sends heartbeats and does not say so. It holds up its successor, and nobody else. The
group names it, and removes it when its rebalance timeout is over (`max.poll.interval.ms`, five minutes).
"""

from __future__ import annotations

import threading
from typing import Any

from examples.rolling import PATIENCE_S, Fleet


def test_the_group_names_who_holds_it_up(kafka: Any) -> None:
    kafka.topics.create("orders", partitions=4)
    group, let_go = kafka.group("billing"), threading.Event()
    with Fleet(kafka.bootstrap, "billing", "orders") as fleet:
        fleet.start("ada", "consumer", on_revoke=lambda *_: let_go.wait(PATIENCE_S))
        group.wait_stable(members=1)
        fleet.start("bob", "consumer")
        group.wait_for(lambda: any(member.revoking for member in group.members))
        (wait,) = group.explain().waits
        assert wait.for_whom == ("ada",)
        assert wait.what.startswith("to revoke orders ")
        assert wait.what.endswith(", which bob is to get")
        assert 290_000 < wait.ends_in_ms <= 300_000
        assert len(group.member("ada").partitions["orders"]) == 2, "what it keeps it may go on reading"
        assert group.member("bob").waits_for == "partitions"
        assert group.history[-1].laggard == "ada"

        kafka.clock.advance(minutes=5, patience=0)  # ada lives: a jump would wait for her, and she for the test
        group.wait_for(lambda: [member.client_id for member in group.members] == ["bob"])
        group.wait_stable(members=1)
        assert len(group.member("bob").partitions["orders"]) == 4
        held_up, after = group.history[-2:]
        assert (held_up.laggard, held_up.outcome) == ("ada", "superseded")
        assert (after.cause, after.actor) == ("epoch timeout", "ada")
        let_go.set()
        group.wait_stable(members=2)
