"""Silver: typed rows of all input, without conclusions, as Parquet.

`silver_rows` names the columns, `record_rows` converts records, `parquet_files` writes them idempotently.
"""
