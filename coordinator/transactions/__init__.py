"""The transaction coordinator: producers of transactional ids and their transactions."""
