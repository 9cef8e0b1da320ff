"""Readers of everything that a user can analyze, one module per type of file; `found` detects the type.

Readers are plain Python over files and yield columns or rows. `pipeline/job/formats.py` wraps them for Spark.
"""
