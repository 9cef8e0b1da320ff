"""Silver: typed rows of everything that was read, without judgement, as Parquet.

`silver_rows` names the columns, `record_rows` turns records into them, `parquet_files` writes them so that a repeated
write changes nothing.
"""
