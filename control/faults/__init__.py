"""Spoiling requests on purpose: rules that say which, when and how."""
