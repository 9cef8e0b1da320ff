"""What the demo does about kafka-python's own mistakes."""

from __future__ import annotations

from types import SimpleNamespace

from kohort.demo.workers.using_kafka_python import _Range


def test_static_member_between_dynamic_ones() -> None:
    members = [
        SimpleNamespace(member_id=name, group_instance_id=instance, metadata=SimpleNamespace(topics=["t"]))
        for name, instance in (("ada", None), ("bob", "i"), ("eve", None))
    ]
    cluster = SimpleNamespace(partitions_for_topic=lambda topic: set(range(6)))
    shares = _Range.assign(cluster, members)
    assert {name: [list(parts) for _, parts in share.assigned_partitions] for name, share in shares.items()} == {
        "bob": [[0, 1]],
        "ada": [[2, 3]],
        "eve": [[4, 5]],
    }
