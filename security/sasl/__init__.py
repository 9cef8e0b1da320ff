"""Logins as a broker hears them (KIP-43, KIP-152, KIP-368): the mechanisms, and what may be said when."""
