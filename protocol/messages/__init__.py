"""Our own shapes of Kafka's messages, one file per API."""
