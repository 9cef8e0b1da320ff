"""The control address over HTTP: a file per subject. Each has a `router`, which `control/app.py` lists."""
