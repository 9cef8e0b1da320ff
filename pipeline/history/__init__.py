"""One group's history. Every figure of the gold tables is computed here; `gold/` only names it.

`silver_input` builds a group's input from its silver rows, and `group_analysis` works out everything about it. Both are
plain Python and numpy: Spark brings each group's rows together and carries the results away.
"""
