"""Small modules that every other package may use: addresses, logs, the clock, tokens, lazy imports."""
