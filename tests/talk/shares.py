"""Assignments and owned partitions in the short form of conversations."""

from tests.talk.values import Value


class Shares(dict[str, Value]):
    """Partitions by topic; compared as a whole. `travelled`: as the answer had them."""

    travelled: Value
