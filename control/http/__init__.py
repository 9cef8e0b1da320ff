"""The HTTP interface of the laboratory."""
