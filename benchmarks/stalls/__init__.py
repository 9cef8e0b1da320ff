"""Wait of other clients while one client causes as much work as it can. `python -m benchmarks.stalls`."""
