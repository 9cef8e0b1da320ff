"""CPU time of the authorizer: cached decisions, new decisions, a change of the ACLs."""

from collections.abc import Callable
from timeit import repeat

from benchmarks.bench import Bench
from kohort.security.acls import AclBinding, Operation, PatternType, Permission, ResourceType
from kohort.security.authorizer import Authorizer
from kohort.security.principal import Principal
from kohort.security.rights import READ_TOPIC

ACLS = 1_000
ALICE, HOST = Principal("User", "alice"), "127.0.0.1"


async def measure(bench: Bench) -> None:
    """Measure one principal with 1,000 ACLs, a tenth of them PREFIXED, that requests each of its topics in turn."""
    acls = [_acl(number) for number in range(ACLS)]
    names = [acl.name for acl in acls]
    authorizer = Authorizer(acls)

    def asks() -> None:
        for name in names:
            authorizer.allows(ALICE, HOST, READ_TOPIC, name)

    def decides() -> None:
        for name in names:
            authorizer.decide(ALICE, HOST, READ_TOPIC, name)

    def changes_and_asks() -> None:
        for acl in acls[:100]:
            authorizer.remove(acl)
            authorizer.add(acl)
            authorizer.allows(ALICE, HOST, READ_TOPIC, acl.name)

    bench.figure("a check", "us", _best(asks, ACLS))
    bench.figure("a decision, nothing remembered", "us", _best(decides, ACLS))
    bench.figure("an ACL taken away and given back, and the next check", "us", _best(changes_and_asks, 100))


def _acl(number: int) -> AclBinding:
    pattern = PatternType.PREFIXED if number % 10 == 0 else PatternType.LITERAL
    return AclBinding(ResourceType.TOPIC, pattern, f"topic-{number}", str(ALICE), "*", Operation.READ, Permission.ALLOW)


def _best(action: Callable[[], None], count: int) -> float:
    """Return the microseconds of one of the `count` calls within `action`, the best of several runs."""
    return min(repeat(action, number=10, repeat=7)) / 10 / count * 1_000_000
