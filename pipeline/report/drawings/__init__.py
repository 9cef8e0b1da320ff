"""Drawings of the report, one per file. Each renders rows of gold tables as SVG; empty without rows."""
