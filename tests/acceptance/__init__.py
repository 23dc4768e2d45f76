"""Dramatiq's features through the public names, with real workers: what a user of the broker relies on."""
