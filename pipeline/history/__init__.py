"""The history of one group. All figures of the gold tables are computed here; `gold/` only names the columns.

`silver_input` builds a group's input from its silver rows, and `group_analysis` analyzes the group. Both are plain
Python and numpy: Spark collects each group's rows and stores the results.
"""
