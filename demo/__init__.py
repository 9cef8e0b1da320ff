"""`kohort demo`: three client libraries share groups on a cluster, and every movement is observed and checked."""
