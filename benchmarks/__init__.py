"""What `make bench` runs: a load generator in a process of its own, a kohort in another, and a judge of every reply.

`requests.py` encodes, `connection.py` asks and matches replies, `group.py` is a group as its members see it,
`pulses.py` keeps members alive punctually, `measurements/` is what is measured, `report.py` the table.
"""
