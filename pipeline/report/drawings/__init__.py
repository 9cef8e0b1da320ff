"""The drawings of the report, one a file. Each takes rows of the gold tables and gives SVG, empty where none apply."""
