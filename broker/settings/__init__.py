"""The settings of brokers, topics and groups: Kafka's names, defaults and limits."""
