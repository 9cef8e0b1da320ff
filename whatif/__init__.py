"""Predict what a history would have cost under other settings, with model clients on the broker's coordinator."""
