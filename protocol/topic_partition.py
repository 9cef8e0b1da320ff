"""A partition by topic name, like Kafka's `TopicPartition`."""

TopicPartition = tuple[str, int]  # topic and partition


def name_of(topic_partition: TopicPartition) -> str:
    """Format as Kafka does, for example `orders-0`."""
    return "{}-{}".format(*topic_partition)
