"""`kohort watch`: consumer groups observed through Kafka's protocol alone, so that any cluster can be watched."""
