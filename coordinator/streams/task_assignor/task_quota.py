"""How many tasks a member is to have at most, while tasks are shared out."""


class TaskQuota:
    """Shares tasks evenly: who has reached its share leaves with it, and the rest is shared among the others."""

    __slots__ = ("_members", "_tasks", "share")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.share = _share(tasks, members)
        """The tasks of one member, rounded up."""

    def note(self, count: int) -> None:
        """Counts a task: somebody has `count` now."""
        if count == self.share:
            self._members -= 1
            self._tasks -= count
            self.share = _share(self._tasks, self._members)


def _share(tasks: int, members: int) -> int:
    return -(-tasks // members) if members else 0
