"""Gold: the answers, as tables. `gold_rows` names the columns; the other files fill them from a group's analysis."""
