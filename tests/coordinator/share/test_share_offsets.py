"""Offsets of share groups are altered and deleted, and groups with them, while share coordinators fail."""

from kohort.coordinator.groups.deleting import delete_group
from kohort.protocol.errors import ErrorCode as E
from tests.coordinator.share.share_group_world import ShareGroupWorld


def empty_group(foo: int, bar: int = 0) -> ShareGroupWorld:
    """Return a world whose group has lost its only member, with partitions of its topics."""
    world = ShareGroupWorld(foo=foo, bar=bar) if bar else ShareGroupWorld(foo=foo)
    ada = world.member("ada", names=("foo", "bar") if bar else ("foo",))
    world.rests(ada)
    ada.leaves()
    world.persister.asked.clear()
    return world


def test_altered_group_starts_in_new_epoch() -> None:
    world = empty_group(foo=2)
    assert world.alters("foo", {0: 7, 1: -2}) == [[E.none, E.none]]
    assert world.persister.states == {("g", world.id_of("foo"), 0): (4, 7), ("g", world.id_of("foo"), 1): (4, -2)}
    assert world.ready("foo") == {0, 1}
    assert world.share_group.epoch == 4


def test_missing_group_is_created() -> None:
    world = ShareGroupWorld(foo=2)
    assert world.alters("foo", {1: 5}) == [[E.none]]
    assert (world.share_group.epoch, world.ready("foo")) == (1, {1})
    world.restart()
    assert world.ready("foo") == {1}, "one record is enough to know it"
    asked = len(world.persister.asked)
    assert world.alters("foo", {}, group_id="other") == [[]]
    assert list(world.coordinator.groups) == ["g", "other"], "as in Kafka, though no partition exists"
    assert len(world.persister.asked) == asked


def test_active_and_other_groups_are_unchanged() -> None:
    world = ShareGroupWorld(foo=1)
    world.rests(world.member("ada"))
    world.coordinator.create_group("classic", 0)
    for group_id, error in (("g", E.non_empty_group), ("classic", E.group_id_not_found)):
        assert world.alters("foo", {0: 1}, group_id) == [error]
        assert world.deletes("foo", group_id=group_id) == [error]
    assert world.deletes("foo", group_id="unknown") == [E.group_id_not_found]
    world.unload()
    assert world.alters("foo", {0: 1}) == [E.not_coordinator]
    assert world.deletes("foo") == [E.not_coordinator]


def test_failed_alteration_reports_each_partition() -> None:
    world = empty_group(foo=1, bar=1)
    world.persister.failing = E.coordinator_not_available
    assert world.alters("foo", {0: 7}) == [[E.coordinator_not_available]]
    assert not world.share_group.states.initializing
    world.persister.failing = E.none
    world.failing = E.not_enough_replicas
    assert world.alters("foo", {0: 7}) == [E.coordinator_not_available]
    assert world.persister.states["g", world.id_of("foo"), 0] == (2, -1), "what is not written is not asked for"


def test_topic_deletion_can_be_retried() -> None:
    world = empty_group(foo=2, bar=1)
    foo = world.id_of("foo")
    world.persister.failing = E.coordinator_not_available
    assert world.deletes("foo") == [[E.coordinator_not_available]]
    assert (world.ready("foo"), world.share_group.states.deleting) == (set(), {foo: "foo"})
    world.restart()
    world.persister.failing = E.none
    assert world.deletes("foo") == [[E.none]]
    assert not world.share_group.states.deleting
    assert {topic_id for _, topic_id, _ in world.persister.states} == {world.id_of("bar")}
    assert world.deletes("foo") == [[]], "nothing is known of it"


def test_resubscribed_topic_is_initialized_again() -> None:
    world = empty_group(foo=1)
    world.persister.failing = E.coordinator_not_available
    world.deletes("foo")
    world.persister.failing = E.none
    ada = world.member("ada")
    world.rests(ada)
    assert ada.partitions() == {0}
    assert not world.share_group.states.deleting


def deletes_group(world: ShareGroupWorld) -> list[E]:
    """Return the result of DeleteGroups, or None while it is pending."""
    heard: list[E] = []
    refusal = delete_group(world.coordinator, "g", world.now_ms, lambda error, _: heard.append(error))
    world.settle()
    return heard if refusal is E.none else [refusal]


def test_group_deletion_deletes_states() -> None:
    world = empty_group(foo=2, bar=1)
    assert deletes_group(world) == [E.none]
    assert not world.persister.states
    assert not world.coordinator.of_type("share")
    assert deletes_group(world) == [E.group_id_not_found]
    assert not world.replayed(compact=False).coordinator.of_type("share")
    ada = world.member("ada")
    ada.tells()
    assert ada.epoch == 2, "it is a new group"


def test_failed_state_deletion_keeps_group() -> None:
    world = empty_group(foo=2)
    world.persister.failing = E.coordinator_not_available
    assert deletes_group(world) == [E.coordinator_not_available]
    world.restart()
    assert world.share_group.states.deleting == {world.id_of("foo"): "foo"}
    world.persister.failing = E.none
    assert deletes_group(world) == [E.none]
    assert not world.persister.states
    assert world.persister.asked == ["delete g: 1-0 1-1"] * 2


def test_member_joining_during_deletion_keeps_group() -> None:
    world = empty_group(foo=1)
    world.persister.holding = True
    heard: list[E] = []
    delete_group(world.coordinator, "g", world.now_ms, lambda error, _: heard.append(error))
    world.settle()
    ada = world.member("ada")
    ada.tells()
    world.persister.let_go(world.now_ms)
    world.settle()
    assert heard == [E.non_empty_group]
    assert list(world.share_group.members) == ["ada-id"]


def test_stateless_group_is_deleted_immediately() -> None:
    world = ShareGroupWorld()
    ada = world.member("ada", names=("not there",))
    ada.tells()
    assert deletes_group(world) == [E.non_empty_group]
    ada.leaves()
    assert deletes_group(world) == [E.none]
    assert not world.persister.asked
