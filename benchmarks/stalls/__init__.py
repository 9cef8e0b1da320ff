"""How long others wait for a broker that somebody asks for as much as one can. `python -m benchmarks.stalls`."""
