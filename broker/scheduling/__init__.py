"""Scheduling of requests: fair turns, parked requests, work in threads, and batched writes."""
