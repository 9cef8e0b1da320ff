"""One file per API: its key and versions, what each version means, and what it asks of the rest."""
