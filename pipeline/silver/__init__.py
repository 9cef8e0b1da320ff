"""Silver: typed rows of everything that was read, without judgement, as Parquet.

`tables` names the columns, `rows` turns records into them, `files` writes them so that a repeated write changes
nothing.
"""
