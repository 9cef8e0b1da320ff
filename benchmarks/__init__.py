"""Benchmarks of `make bench`: a load generator in one process, a kohort in another, and a check of every response.

`requests.py` encodes requests, `connection.py` sends them and matches responses, `group.py` is a group as its members
see it, `pulses.py` keeps members alive, `measurements/` holds the measurements, `report.py` the table.
"""
