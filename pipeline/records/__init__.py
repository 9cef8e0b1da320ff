"""Records in bulk: offset commits, classic groups and segment files.

`kohort.protocol.records` has the table of layouts and the plain reader, with which these agree.
`offset_commits` reads offset commits in bulk, `segment_batches` parses segment files.
"""
