"""The process: listeners, connections, and dispatch of requests, from start to stop."""
