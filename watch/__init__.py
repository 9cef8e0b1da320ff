"""`kohort watch`: consumer groups seen from outside, through Kafka's protocol only, so that any cluster will do."""
