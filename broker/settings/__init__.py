"""Settings of brokers, topics and groups, with Kafka's names, defaults and limits."""
