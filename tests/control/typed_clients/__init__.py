"""Makes the parts of `clients/` that say what the control address says: `python -m tests.control.typed_clients`."""
