"""Records of `__consumer_offsets`: bytes to values and back, all types and versions of Kafka 4.3.

`layouts` is the table of what is written, `codec` reads and writes by that table (the reference, all types),
`commits` reads offset commits by the hundred thousand, `batches` takes segment files apart.
"""
