"""A consumer group that cannot become a classic group (consumer-groups §17.4)."""

from kohort.protocol.consumer_protocol import Subscription, write_subscription
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.consumer.world import Consumer, ConsumerWorld
from tests.support.coordinator_world import Speaker

TWICE = (("range", write_subscription(Subscription(topics=("foo",)))),) * 2


def with_member_listing_twice() -> tuple[ConsumerWorld, Consumer, Speaker]:
    """Return ada, of the consumer protocol, and bob, who lists a protocol twice, so that none can be selected."""
    world = ConsumerWorld(foo=2)
    ada, bob = world.consumer("ada"), world.speaker("bob", protocols=TWICE, session_ms=60_000)
    ada.acts()
    assert bob.enters().error is E.none
    return world, ada, bob


def test_last_consumer_member_cannot_leave() -> None:
    world, ada, bob = with_member_listing_twice()
    assert ada.leaves().error is E.unknown_server_error
    assert set(world.consumer_group.members) == {ada.member_id, bob.member_id}
    assert "cannot be converted to a classic group" in world.warnings[-1]


def test_expired_member_stays_while_conversion_fails() -> None:
    world, ada, bob = with_member_listing_twice()
    world.after(15_000)
    assert set(world.consumer_group.members) == {ada.member_id, bob.member_id}
    assert bob.leaves().error is E.none
    world.after(5_000)
    assert world.consumer_group.members == {}
