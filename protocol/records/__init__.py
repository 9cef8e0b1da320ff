"""Records of Kafka's internal topics: one table of their layouts, and a reader and a writer that follow it."""
