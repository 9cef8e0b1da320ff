"""Records of `__consumer_offsets`: bytes to values and back, all types and versions of Kafka 4.3.

`layouts` is the table of what is written, `record_codec` reads and writes by that table (the reference, all types),
`offset_commits` reads offset commits by the hundred thousand, `segment_batches` takes segment files apart.
"""
