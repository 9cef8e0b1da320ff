"""Analysis of rebalances from a coordinator's logs: causes, triggering clients, cost, and proposed settings.

The steps of an analysis: `sources/` recognizes the input and reads it. `records/` decodes the records of
`__consumer_offsets`. `silver/` writes typed rows without conclusions. `history/` processes one group at a time and
computes every figure of the gold tables. `rules/` evaluates them, `gold/` writes tables, `report/` renders them. Spark
moves rows between these steps. Every step is plain Python or numpy and can be tested without Spark.
"""
