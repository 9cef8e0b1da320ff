"""HTTP endpoints of the control address, one module for each subject.

Each has a `router`, which `control/http/app.py` lists.
"""
