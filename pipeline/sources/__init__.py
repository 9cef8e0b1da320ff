"""What a person can hand over, and how it is read: one module per kind, and `found` that tells them apart.

Readers are plain Python over files and yield columns or rows; `spark` wraps them as Spark data sources.
"""
