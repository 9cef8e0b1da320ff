"""A partition by its name, as Kafka's `TopicPartition`."""

TopicPartition = tuple[str, int]
"""Topic and partition."""


def name_of(topic_partition: TopicPartition) -> str:
    """`orders-0`, as Kafka prints it."""
    return "{}-{}".format(*topic_partition)
