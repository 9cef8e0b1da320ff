"""Laboratory of a running broker: stops nodes, moves leaders and the clock, holds requests and injects faults.

One file per subject. app.py assembles the HTTP routers, and listening.py serves them.
"""
