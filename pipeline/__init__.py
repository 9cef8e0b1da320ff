"""Why groups rebalanced, who caused it, what it cost, what to change: worked out from a coordinator's logs.

The life of an analysis: `sources/` recognises what was handed over and reads it. `records/` turns the bytes of
`__consumer_offsets` into values. `silver/` writes typed rows without judgement. `history/` follows one group at a time
and computes every figure of the gold tables. `rules/` judges them, `gold/` puts them into tables, `report/` shows them.
Spark carries rows between these steps. Every step itself is plain Python or numpy and can be tested without Spark.
"""
