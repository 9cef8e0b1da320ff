"""A run's group conversation as a `.talk` file: written by a proxy, read and played again."""
