"""Priority queue whose head has the lowest load.

Items of equal load have the order of Java's `PriorityQueue`, which decides which of several equally good assignments
Kafka chooses, and which it never chooses.
"""

from typing import Generic, TypeVar

T = TypeVar("T")


class LoadQueue(Generic[T]):
    """Binary heap. The load of an item does not change while it is queued."""

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[tuple[float, T]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def put(self, load: float, item: T) -> None:
        heap = self._heap
        position = len(heap)
        heap.append((load, item))
        while position:
            parent = (position - 1) >> 1
            if load >= heap[parent][0]:
                break
            heap[position] = heap[parent]
            position = parent
        heap[position] = (load, item)

    def take(self) -> T:
        heap = self._heap
        last = heap.pop()
        if not heap:
            return last[1]
        head, load, size = heap[0][1], last[0], len(heap)
        position, child = 0, 1
        while child < size:
            if child + 1 < size and heap[child + 1][0] < heap[child][0]:
                child += 1
            if load <= heap[child][0]:
                break
            heap[position] = heap[child]
            position, child = child, 2 * child + 1
        heap[position] = last
        return head
