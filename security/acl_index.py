"""An index of ACLs by resource name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from kohort.security.acls import WILDCARD, AclBinding, PatternType, ResourceType

_Pattern = tuple[ResourceType, PatternType, str]


class AclIndex:
    """A set of ACLs, indexed by their patterns."""

    def __init__(self, acls: Iterable[AclBinding] = ()) -> None:
        self._acls: dict[AclBinding, None] = {}
        self._by_pattern: dict[_Pattern, dict[AclBinding, None]] = {}
        # Number of patterns of each length: a name has to be looked up with as many prefixes as there are lengths.
        self._prefix_lengths: dict[ResourceType, Counter[int]] = {}
        for acl in acls:
            self.add(acl)

    def __len__(self) -> int:
        return len(self._acls)

    def __iter__(self) -> Iterator[AclBinding]:
        """Iterate over the ACLs, oldest first."""
        return iter(self._acls)

    def __contains__(self, acl: AclBinding) -> bool:
        return acl in self._acls

    def add(self, acl: AclBinding) -> None:
        """Add an ACL unless it exists."""
        self._acls[acl] = None
        pattern = acl[:3]
        acls = self._by_pattern.get(pattern)
        if acls is None:
            acls = self._by_pattern[pattern] = {}
            if acl.pattern_type == PatternType.PREFIXED:
                self._prefix_lengths.setdefault(acl.resource_type, Counter())[len(acl.name)] += 1
        acls[acl] = None

    def remove(self, acl: AclBinding) -> None:
        del self._acls[acl]
        pattern = acl[:3]
        acls = self._by_pattern[pattern]
        del acls[acl]
        if acls:
            return
        del self._by_pattern[pattern]
        if acl.pattern_type == PatternType.PREFIXED:
            lengths = self._prefix_lengths[acl.resource_type]
            lengths[len(acl.name)] -= 1
            if not lengths[len(acl.name)]:
                del lengths[len(acl.name)]

    def applying(self, resource_type: ResourceType, name: str) -> Iterator[AclBinding]:
        """Yield the ACLs of all principals for this resource: LITERAL, the wildcard, and prefixes."""
        by_pattern = self._by_pattern
        yield from by_pattern.get((resource_type, PatternType.LITERAL, name), ())
        if name != WILDCARD:
            yield from by_pattern.get((resource_type, PatternType.LITERAL, WILDCARD), ())
        for length in self._prefix_lengths.get(resource_type, ()):
            if length <= len(name):
                yield from by_pattern.get((resource_type, PatternType.PREFIXED, name[:length]), ())
