"""Explanations of groups: whom a group waits for, until when, and what each client should do."""
