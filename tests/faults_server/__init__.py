"""Faults of the server itself: killed, stopped, not to be reached, far away."""
