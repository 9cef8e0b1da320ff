"""Parts that groups of all types have in common: placement, loading, description, deletion."""
