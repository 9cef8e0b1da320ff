"""Highest number of tasks per member during an assignment."""


class TaskQuota:
    """Quota for an even distribution: a member that reaches it is done, and the rest is divided among the others."""

    __slots__ = ("_members", "_tasks", "share")

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members
        self.share = _share(tasks, members)  # tasks of one member, rounded up

    def note(self, count: int) -> None:
        if count == self.share:
            self._members -= 1
            self._tasks -= count
            self.share = _share(self._tasks, self._members)


def _share(tasks: int, members: int) -> int:
    return -(-tasks // members) if members else 0
