"""Shards: several servers of one installation, which of them holds what, and questions to all of them at once."""
