"""Records of `__consumer_offsets`: decoding and encoding of all types and versions of Kafka 4.3.

`layouts` is the table of the formats. `record_codec` reads and writes by that table (the reference, all types),
`offset_commits` reads offset commits in bulk, `segment_batches` parses segment files.
"""
