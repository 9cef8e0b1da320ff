"""What somebody has been given, or has, in the short form that conversations use."""

from tests.talk.values import Value


class Shares(dict[str, Value]):
    """Partitions by topic; compared as a whole. `travelled`: as the answer had them."""

    travelled: Value
