"""How long the authorizer takes: what it remembers, what it decides anew, and a change."""

from collections.abc import Callable
from timeit import repeat

from benchmarks.bench import Bench
from kohort.security.acls import AclBinding, Operation, PatternType, Permission, ResourceType
from kohort.security.authorizer import Authorizer
from kohort.security.principal import Principal
from kohort.security.rights import READ_TOPIC

ACLS = 1_000
ALICE, HERE = Principal("User", "alice"), "127.0.0.1"


async def measure(bench: Bench) -> None:
    """One principal with 1,000 ACLs, a tenth of them PREFIXED, asks for each of its topics in turn."""
    acls = [_acl(number) for number in range(ACLS)]
    names = [acl.name for acl in acls]
    authorizer = Authorizer(acls)

    def asks() -> None:
        for name in names:
            authorizer.allows(ALICE, HERE, READ_TOPIC, name)

    def decides() -> None:
        for name in names:
            authorizer.decide(ALICE, HERE, READ_TOPIC, name)

    def changes_and_asks() -> None:
        for acl in acls[:100]:
            authorizer.remove(acl)
            authorizer.add(acl)
            authorizer.allows(ALICE, HERE, READ_TOPIC, acl.name)

    bench.figure("a check", "us", _best(asks, ACLS))
    bench.figure("a decision, nothing remembered", "us", _best(decides, ACLS))
    bench.figure("an ACL taken away and given back, and the next check", "us", _best(changes_and_asks, 100))


def _acl(number: int) -> AclBinding:
    pattern = PatternType.PREFIXED if number % 10 == 0 else PatternType.LITERAL
    return AclBinding(ResourceType.TOPIC, pattern, f"topic-{number}", str(ALICE), "*", Operation.READ, Permission.ALLOW)


def _best(action: Callable[[], None], count: int) -> float:
    """Microseconds for one of the `count` that `action` does, the best of several times."""
    return min(repeat(action, number=10, repeat=7)) / 10 / count * 1_000_000
