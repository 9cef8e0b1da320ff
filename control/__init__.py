"""What one may do to a running broker: stop its nodes, move leaders, move its clock, hold and spoil requests.

One file per subject. Of those that are reached over HTTP, app.py puts the routers together, and listening.py lets them
be reached.
"""
