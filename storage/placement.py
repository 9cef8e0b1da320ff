"""Assigns replicas to nodes.

Replication is only metadata: a partition lists as many replicas as requested but has one log.
Source: Kafka's `ReplicationControlManager` and `StripedReplicaPlacer`; error messages are those of Kafka 4.3.0.
"""

from collections.abc import Sequence

from kohort.protocol.errors import ErrorCode
from kohort.storage.refusal import Refusal

MAX_PARTITIONS = 10_000  # Maximum partitions of a topic; Kafka's limit per request (`MAX_PARTITIONS_PER_BATCH`).

NO_LEADER = -1  # leader of a partition whose replicas are all on stopped nodes


class Placement:
    """The nodes of a cluster and their replicas. Replicas are node ids, the preferred leader first."""

    def __init__(self, node_ids: Sequence[int]) -> None:
        self.node_ids = tuple(node_ids)
        # Nodes that are not running. They can have replicas of a new topic but do not lead it.
        self.stopped_nodes: frozenset[int] = frozenset()

    # Partitions that are there

    def eligible_leader(self, replicas: Sequence[int]) -> int:
        """Return the first running node, or `NO_LEADER`."""
        return next((node for node in replicas if node not in self.stopped_nodes), NO_LEADER)

    def in_sync(self, replicas: tuple[int, ...]) -> tuple[int, ...]:
        """Return the running replicas. The last one stays in sync when it stops, as in Kafka."""
        if not self.stopped_nodes:
            return replicas
        return tuple(node for node in replicas if node not in self.stopped_nodes) or replicas[:1]

    def offline(self, replicas: tuple[int, ...]) -> tuple[int, ...]:
        if not self.stopped_nodes:
            return ()
        return tuple(node for node in replicas if node in self.stopped_nodes)

    # Partitions to come

    def spread(self, first: int, partitions: int, factor: int) -> list[tuple[int, ...]]:
        """Return replicas for each partition: leaders rotate over the nodes; followers are the nodes after it."""
        nodes = [node_id for node_id in self.node_ids if node_id not in self.stopped_nodes]
        stopped = [node_id for node_id in self.node_ids if node_id in self.stopped_nodes]
        if not nodes:
            nodes, stopped = stopped, []
        ring = [tuple([*nodes[start:], *nodes[:start], *stopped][:factor]) for start in range(len(nodes))]
        return [ring[(first + index) % len(nodes)] for index in range(partitions)]

    def of_new_topic(
        self,
        first: int,
        size: tuple[int, int],
        usual_size: tuple[int, int],
        assignments: Sequence[tuple[int, Sequence[int]]] | None,
    ) -> list[tuple[int, ...]] | Refusal:
        """Return the replicas of a new topic, as assigned by the client or from `spread`.

        Args:
            size: Number of partitions and replicas; -1 selects the value of `usual_size`.
        """
        partitions, factor = size
        if assignments:
            for number, description in ((factor, "replication factor"), (partitions, "numPartitions")):
                if number != -1:
                    return Refusal(
                        ErrorCode.invalid_request,
                        f"A manual partition assignment was specified, but {description} was not set to -1.",
                    )
            return self._by_hand_of_new_topic(assignments)
        if factor < -1 or factor == 0:
            return Refusal(
                ErrorCode.invalid_replication_factor,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            )
        if partitions < -1 or partitions == 0:
            return Refusal(
                ErrorCode.invalid_partitions, "Number of partitions was set to an invalid non-positive value."
            )
        partitions, factor = (
            usual if requested == -1 else requested for requested, usual in zip(size, usual_size, strict=True)
        )
        return too_many(partitions) or self._unable_to_replicate(factor) or self.spread(first, partitions, factor)

    def of_more(self, replicas: Sequence[tuple[int, ...]], more: int) -> list[tuple[int, ...]] | Refusal:
        """Return the replicas of additional partitions, with as many replicas as the existing ones."""
        first = self.node_ids.index(replicas[-1][0]) + 1
        return too_many(more + len(replicas)) or self.spread(first, more, len(replicas[0]))

    def _by_hand_of_new_topic(
        self, assignments: Sequence[tuple[int, Sequence[int]]]
    ) -> list[tuple[int, ...]] | Refusal:
        """Return the replicas that the client has assigned to a new topic."""
        replicas_by_partition: dict[int, tuple[int, ...]] = {}
        factor: int | None = None
        for index, replicas in assignments:
            if index in replicas_by_partition:
                message = f"Found multiple manual partition assignments for partition {index}"
                return Refusal(ErrorCode.invalid_replica_assignment, message)
            refusal = self.refusal_of(replicas, factor) or self._nobody_runs(index, replicas)
            if refusal is not None:
                return refusal
            replicas_by_partition[index], factor = tuple(replicas), len(replicas)
        if sorted(replicas_by_partition) != list(range(len(replicas_by_partition))):
            return Refusal(
                ErrorCode.invalid_replica_assignment, "partitions should be a consecutive 0-based integer sequence"
            )
        return [replicas_by_partition[index] for index in range(len(replicas_by_partition))]

    def of_more_by_hand(
        self, there_are: int, more: int, assignments: Sequence[Sequence[int]], factor: int
    ) -> list[tuple[int, ...]] | Refusal:
        """Return the replicas that the client has assigned to additional partitions, each `factor` of them."""
        if len(assignments) != more:
            return Refusal(
                ErrorCode.invalid_replica_assignment,
                f"Attempted to add {more} additional partition(s), but only {len(assignments)} assignment(s) were "
                "specified.",
            )
        for index, replicas in enumerate(assignments, there_are):
            refusal = self.refusal_of(replicas, factor) or self._nobody_runs(index, replicas)
            if refusal is not None:
                return refusal
        return [tuple(replicas) for replicas in assignments]

    # Refusals

    def refusal_of(self, replicas: Sequence[int], factor: int | None = None) -> Refusal | None:
        """Return why these nodes cannot be the replicas of a partition, or None.

        `factor` is the count of other partitions.
        """
        message = self._problem_of(sorted(replicas))
        if message is None and factor not in (None, len(replicas)):
            message = (
                f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is "
                f"not consistent with previous partitions, which have {factor} replica(s)."
            )
        return None if message is None else Refusal(ErrorCode.invalid_replica_assignment, message)

    def _problem_of(self, replicas: list[int]) -> str | None:
        if not replicas:
            return "The manual partition assignment includes an empty replica list."
        for seen_nodes, node in zip((None, *replicas), replicas, strict=False):
            if node not in self.node_ids:
                return f"The manual partition assignment includes broker {node}, but no such broker is registered."
            if node == seen_nodes:
                return f"The manual partition assignment includes the broker {node} more than once."
        return None

    def _nobody_runs(self, index: int, replicas: Sequence[int]) -> Refusal | None:
        if not self.stopped_nodes.issuperset(replicas):
            return None
        return Refusal(
            ErrorCode.invalid_replica_assignment,
            f"All brokers specified in the manual partition assignment for partition {index} are fenced or in "
            "controlled shutdown.",
        )

    def _unable_to_replicate(self, factor: int) -> Refusal | None:
        nodes = len(self.node_ids)
        if factor <= nodes:
            return None
        return Refusal(
            ErrorCode.invalid_replication_factor,
            f"Unable to replicate the partition {factor} time(s): The target replication factor of {factor} cannot be "
            f"reached because only {nodes} broker(s) are registered or some brokers have all their log directories "
            "cordoned.",
        )


def too_many(partitions: int) -> Refusal | None:
    """Return the error if a topic would have too many partitions."""
    if partitions <= MAX_PARTITIONS:
        return None
    return Refusal(ErrorCode.policy_violation, "Excessively large number of partitions per request.")
