"""Groups of one library: members come, go, crash, and come back."""

from __future__ import annotations

from tests.clients.company import Company, Member
from tests.clients.libraries import BY_NAME
from tests.support.lacking import lacks


def test_members_join_late_and_leave(company: Company, any_library: str) -> None:
    sent = company.produce(10)
    ada, bob = company.join("ada", any_library), company.join("bob", any_library)
    company.until_shared_by(ada, bob)
    eve = company.join("eve", any_library)
    company.until_shared_by(ada, bob, eve)
    bob.stop()
    company.until_shared_by(ada, eve)
    sent |= company.produce(10)
    company.until_consumed(sent, ada, bob, eve)


def test_crashed_member_expires(company: Company, any_library: str) -> None:
    ada, bob = company.join("ada", any_library), company.join("bob", any_library)
    company.until_shared_by(ada, bob)
    bob.crash()
    sent = company.produce(10)
    company.until_shared_by(ada)
    company.until_consumed(sent, ada)


def test_group_continues_at_its_commits(company: Company, any_library: str) -> None:
    ada = company.join("ada", any_library)
    read = company.produce(20)
    company.until_consumed(read, ada)
    ada.stop()
    fresh = company.produce(5)
    bob = company.join("bob", any_library)
    company.until_consumed(fresh, bob)
    assert set(bob.consumed) == fresh


def test_whole_group_resumes_from_commits(company: Company, any_library: str) -> None:
    sent = company.produce(10)
    ada, bob = company.join("ada", any_library), company.join("bob", any_library)
    company.until_shared_by(ada, bob)
    eve = company.join("eve", any_library)
    company.until_shared_by(ada, bob, eve)
    bob.stop()
    ada.crash()
    company.until_shared_by(eve)
    sent |= company.produce(10)
    company.until_consumed(sent, ada, bob, eve)
    eve.stop()
    fresh = company.produce(10)
    again = [company.join(name, any_library) for name in ("ada", "bob", "eve")]
    company.until_shared_by(*again)
    company.until_consumed(fresh, *again)
    read = {record for member in again for record in member.consumed}
    assert read == fresh, "what was committed is not read again"


def test_static_member_returns_without_movement(company: Company, any_library: str) -> None:
    if not BY_NAME[any_library].static:
        lacks("feature", f"{any_library} has no static membership")
    ada = company.join("ada", any_library, instance="desk-1")
    bob = company.join("bob", any_library, instance="desk-2")
    company.until_shared_by(ada, bob)
    company.until_calm()
    company.until_consumed(company.produce(2), ada, bob)
    # Some leaders ask for another rebalance when they see newer metadata, on a busy machine later than one can wait
    # for. If one came just then, nothing can be said, and the member restarts again.
    for _ in range(3):
        taken, generation = len(bob.revoked), bob.generations[-1]
        back = comes_back(company, ada, any_library)
        company.until_consumed(company.produce(2), back, bob)
        seen = (
            {generation, bob.generations[-1], *back.generations} if BY_NAME[any_library].generations else {generation}
        )
        if (len(seen), len(bob.revoked)) == (1, taken):
            return
        ada = back
    raise AssertionError(f"whenever it comes back the group rebalances: generations {sorted(seen)}")


def comes_back(company: Company, ada: Member, library: str) -> Member:
    """Restart a static member, which must keep its partitions."""
    owned = set(ada.owns)
    ada.stop()
    back = company.join("ada", library, instance="desk-1")
    company.until(lambda: back.owns == owned, "the static member has what it had")
    return back


def test_cooperative_members_keep_their_partitions(company: Company, any_library: str) -> None:
    if not BY_NAME[any_library].cooperative:
        lacks("feature", f"{any_library} has no cooperative assignor")
    ada, bob = (company.join(name, any_library, cooperative=True) for name in ("ada", "bob"))
    company.until_shared_by(ada, bob)
    company.until_calm()
    before = {"ada": set(ada.owns), "bob": set(bob.owns)}
    ada.revoked.clear()
    bob.revoked.clear()
    eve = company.join("eve", any_library, cooperative=True)
    company.until_shared_by(ada, bob, eve)
    for member in (ada, bob):
        assert set(member.revoked) == before[member.name] - member.owns, "what it keeps was never taken from it"
    company.until_consumed(company.produce(5), ada, bob, eve)
