"""Group conversations as `.talk` files: recorded by a proxy, read and replayed."""
