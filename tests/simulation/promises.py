"""What holds at every moment, one function for each promise."""

from collections import Counter

from kohort.coordinator.classic.classic_group import ClassicGroup
from kohort.coordinator.classic.classic_member import ANSWERED
from kohort.coordinator.classic.sessions import Session
from kohort.coordinator.classic.states import State
from kohort.coordinator.groups.observer import UNOBSERVED
from kohort.coordinator.offsets.offsets_topic_records import GroupKey, read_group_value, read_key
from tests.simulation.simulated import Asked, Simulation
from tests.support.coordinator_records import compacted
from tests.support.coordinator_world import World

COMPLETING, PREPARING, STABLE = State.COMPLETING_REBALANCE, State.PREPARING_REBALANCE, State.STABLE


def groups(simulation: Simulation) -> list[ClassicGroup]:
    return simulation.world.coordinator.of_type("classic")


def no_ticket_is_forgotten(simulation: Simulation) -> None:
    """Check that requests wait for a member or the log, unless Kafka never responds (classic-groups §3.5, §6.4)."""
    held = {
        id(ticket)
        for group in groups(simulation)
        for member in group.members.values()
        for ticket in (member.join_ticket, member.sync_ticket)
    }
    for ticket in list(simulation.tickets):
        if id(ticket) in held or (ticket.kind in ("offset_commit", "leave_group") and simulation.world.held):
            continue
        assert _is_never_answered(simulation, ticket), f"{ticket.asked} of {ticket.member_id} is forgotten"
        simulation.tickets.remove(ticket)


def _is_never_answered(simulation: Simulation, ticket: Asked) -> bool:
    if ticket.kind == "sync_group" and any(ticket.member_id in warning for warning in simulation.world.warnings):
        return True  # its member was removed by a LeaveGroup
    return any(
        other.member_id == ticket.member_id and other.kind == ticket.kind for other in simulation.asked_after(ticket)
    )


def nobody_holds_the_same_ticket(simulation: Simulation) -> None:
    for group in groups(simulation):
        for kind in ("join_ticket", "sync_ticket"):
            tickets = [getattr(member, kind) for member in group.members.values()]
            counts = Counter(id(ticket) for ticket in tickets if ticket is not None and ticket is not ANSWERED)
            assert all(count == 1 for count in counts.values())


def nobody_is_in_two_places(simulation: Simulation) -> None:
    seen: set[str] = set()
    for group in groups(simulation):
        ids = [*group.members, *(group.pending_joins or ())]
        assert len(ids) == len(set(ids))
        assert seen.isdisjoint(ids)
        seen.update(ids)
        assert all(member_id == member.member_id for member_id, member in group.members.items())
        registered = {m.group_instance_id: m.member_id for m in group.members.values() if m.group_instance_id}
        assert (group.static_members or {}) == registered


def there_is_one_leader(simulation: Simulation) -> None:
    """Check that groups have one leader, whose name all responses of a generation share."""
    for group in groups(simulation):
        assert (group.leader_id in group.members) if group.members else group.leader_id is None
    for leaders in simulation.leaders.values():
        assert len({leader.rpartition("-")[0] for leader in leaders}) == 1, leaders


def generations_never_go_back(simulation: Simulation) -> None:
    for group in groups(simulation):
        before = simulation.generations.get(id(group), (group, 0))[1]
        assert group.generation_id >= before
        simulation.generations[id(group)] = group, group.generation_id


def states_fit_their_members(simulation: Simulation) -> None:
    for group in groups(simulation):
        assert group.state is not State.DEAD
        if group.state is State.EMPTY:
            assert not group.members
        elif group.state in (COMPLETING, STABLE):
            assert group.members
            assert group.protocol_name is not None


def counters_equal_reality(simulation: Simulation) -> None:
    for group in groups(simulation):
        members = group.members.values()
        assert group.waiting_joins == sum(member.join_ticket is not None for member in members)
        assert group.supported_protocols == Counter(name for m in members for name, _ in m.protocols)
        assert group.pending_joins is None or group.pending_joins
        assert group.static_members is None or set(group.static_members.values()) <= group.members.keys()
        assert group.commits_in_flight >= 0


def who_waits_fits_the_state(simulation: Simulation) -> None:
    for group in groups(simulation):
        members = group.members.values()
        if group.state is not COMPLETING:
            assert not any(member.sync_ticket for member in members)
        if group.state not in (COMPLETING, STABLE):
            assert group.pending_sync is None
        if group.state is COMPLETING:
            assert not group.waiting_joins
            synced = {m.member_id for m in members if m.sync_ticket}
            assert synced.isdisjoint(group.pending_sync or ())


def every_phase_has_its_timer(simulation: Simulation) -> None:
    for group in groups(simulation):
        assert (group.pending_sync_timer is not None) == bool(group.pending_sync)
        if group.state is not PREPARING:
            assert group.join_phase is None
        elif group.join_phase is None:
            assert any("join phase failed" in warning for warning in simulation.world.warnings)


def sessions_run_for_those_who_need_them(simulation: Simulation) -> None:
    """Check that members without pending requests have a session within the longest timeout."""
    now_ms = simulation.world.now_ms
    for group in groups(simulation):
        for member in group.members.values():
            session = member.session
            if session is None:
                assert member.satisfies_heartbeat, member.member_id
            else:
                assert isinstance(session, Session)
                assert session.scheduled
                assert session.member_id == member.member_id
                assert now_ms <= session.deadline_ms <= now_ms + 300_000
        for member_id, session in (group.pending_joins or {}).items():
            assert isinstance(session, Session)
            assert session.scheduled
            assert session.member_id == member_id


def timers_do_not_leak(simulation: Simulation) -> None:
    expected = 1 + (simulation.world.coordinator.observer is not UNOBSERVED)  # the sweep, and the sums of heartbeats
    for group in groups(simulation):
        expected += sum(member.session is not None for member in group.members.values())
        expected += len(group.pending_joins or ())
        expected += (group.join_phase is not None) + (group.pending_sync_timer is not None)
        expected += group.event_state is not None and group.event_state.half_time is not None
    assert len(simulation.world.purgatory) == expected


def nothing_is_left_undone(simulation: Simulation) -> None:
    assert not simulation.world.coordinator.effects


def generations_in_the_log_never_go_back(simulation: Simulation) -> None:
    """Check that generations in the log only grow, even over moves, until the group is deleted."""
    for records in simulation.world.log.values():
        latest: dict[bytes, int] = {}
        for key, value in records:
            if isinstance(read_key(key), GroupKey):
                generation = -1 if value is None else read_group_value(value).generation_id
                assert generation == -1 or generation >= latest.get(key, -1), key
                latest[key] = generation


PROMISES = [
    no_ticket_is_forgotten,
    nobody_holds_the_same_ticket,
    nobody_is_in_two_places,
    there_is_one_leader,
    generations_never_go_back,
    states_fit_their_members,
    counters_equal_reality,
    who_waits_fits_the_state,
    every_phase_has_its_timer,
    sessions_run_for_those_who_need_them,
    timers_do_not_leak,
    nothing_is_left_undone,
]


def replay_gives_the_same(simulation: Simulation) -> None:
    """Check, when nothing is being written, that a loaded log equals the coordinator's state."""
    world = simulation.world
    assert not world.held
    other = World(partitions=len(world.log), lead=False)
    other.log = {partition: compacted(records) for partition, records in world.log.items()}
    for partition in other.log:
        other.load(partition)
    for group_id in world.coordinator.groups.keys() | other.coordinator.groups.keys():
        assert _offsets(other, group_id) == _offsets(world, group_id), group_id
        group = world.coordinator.classic_group(group_id)
        if group is not None and group_id not in simulation.unsaved:
            _compare(group, other.coordinator.classic_group(group_id))


def _offsets(world: World, group_id: str) -> dict[str, int]:
    return world.offsets(group_id=group_id)


def _compare(group: ClassicGroup, loaded: ClassicGroup | None) -> None:
    """Compare groups without subscriptions: a static member may return with other topics (classic-groups §3.6)."""
    if group.state not in (STABLE, State.EMPTY):
        assert loaded is None or loaded.generation_id <= group.generation_id
        return
    assert loaded is not None, f"{group.group_id} is {group.state} and not in the log"
    if group.state is State.EMPTY:
        assert loaded.subscribed_topics == group.subscribed_topics
    for field in ("state", "generation_id", "protocol_name", "leader_id", "protocol_type"):
        assert getattr(loaded, field) == getattr(group, field), field
    kept = [(m.member_id, m.group_instance_id, m.assignment) for m in loaded.members.values()]
    assert sorted(kept) == sorted((m.member_id, m.group_instance_id, m.assignment) for m in group.members.values())


def events_tell_of_whole_rebalances(simulation: Simulation) -> None:
    """Check that events belong to a rebalance that has started, with times of at least zero."""
    started: dict[str | None, set[str | None]] = {}
    current: dict[str | None, str | None] = {}
    for event in simulation.world.events:
        assert (event.duration_us or 0) >= 0, event
        if event.kind == "rebalance_started":
            started.setdefault(event.group_id, set()).add(event.rebalance_id)
            current[event.group_id] = event.rebalance_id
        elif event.rebalance_id is not None:
            assert event.rebalance_id in started.get(event.group_id, ()), event
        if event.kind in ("member_rejoined", "join_completed", "member_synced", "assignment_received"):
            assert event.rebalance_id == current.get(event.group_id), event
        if event.kind == "join_completed":
            joined, left, evicted = map(set, (event.joined or (), event.left or (), event.evicted or ()))
            assert not joined & left, event
            assert not evicted & (joined | left), event
