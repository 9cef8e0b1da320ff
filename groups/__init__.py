"""`GroupView`: what a group looks like, for every group type and from every source of facts.

This package does not know where the facts come from. Sources are the coordinator's state, traffic that the proxy
observes, and Describe responses. Readers are explanations, the control address, `kohort watch` and the API for tests.
"""
