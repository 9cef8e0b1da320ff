"""Why groups rebalanced, who caused it, what it cost, what to change: told from a coordinator's logs.

The life of an analysis: `sources/` find out what was handed over and read it; `records/` turn the bytes of
`__consumer_offsets` into values; `silver/` writes typed rows without judgement; `history/` follows one group at a
time and is the only place where a number is defined; `rules/` judge; `report/` tells. Spark carries rows between
these steps; every step itself is plain Python or numpy and can be tested without Spark.
"""
