"""Makes the parts of the clients that say what a control address says: `python3 -m generator`, in the folder `clients`.

It needs nothing but Python, and is part of the clients' own builds.
"""
