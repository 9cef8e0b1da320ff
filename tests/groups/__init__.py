"""Tests of views of groups and their explanations."""
