"""What goes wrong in groups of the consumer protocol, done to real consumers on a real broker, and recorded.

`python -m tests.pipeline.incidents.record` plays and records; `recordings/` has what came of it.
"""
