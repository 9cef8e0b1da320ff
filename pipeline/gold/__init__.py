"""Gold: the results as tables. `gold_rows` names the columns; the other files fill them from a group's analysis."""
