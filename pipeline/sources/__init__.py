"""What a person can hand over, and how it is read: one module per kind; `found` recognises the kind.

Readers are plain Python over files and yield columns or rows. `pipeline/job/formats.py` wraps them for Spark.
"""
