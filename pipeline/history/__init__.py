"""One group's history: the only place where a number is defined.

`analyse.analyse_group` takes everything silver knows about one group and gives back the rows of the gold tables. It
is plain Python and numpy; Spark brings each group's rows together and carries the results away.
"""
