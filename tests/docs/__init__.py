"""Checks that compare documents with the code."""
