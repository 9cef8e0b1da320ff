"""Records of share groups: their owners and states."""
