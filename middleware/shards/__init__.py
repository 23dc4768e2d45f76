"""Shards of a broker: one broker object that routes, and a broker and workers of its own for each further server."""
