"""`kohort demo`: three client libraries share groups on a cluster, and everything that moves is watched and checked."""
