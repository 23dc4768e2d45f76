"""Rough weather on one machine: processes, a server and a network that are harmed at random, then every invariant."""
