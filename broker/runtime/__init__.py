"""The process: connections, dispatch, the server, from start to stop."""
