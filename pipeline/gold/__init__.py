"""Gold: the answers, as tables. `tables` names the columns, `rows` fills them from a group's analysis."""
