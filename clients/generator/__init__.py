"""Generator of the clients' calls of the control address: `python3 -m generator`, in the folder `clients`.

It needs only Python, and is part of the clients' own builds.
"""
