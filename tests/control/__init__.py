"""The control address."""
