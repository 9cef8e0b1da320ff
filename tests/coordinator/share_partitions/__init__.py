"""Records of share groups: who holds them, and what became of them."""
