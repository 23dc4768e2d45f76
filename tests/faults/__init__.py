"""The faults of the guarantees, injected on a real server."""
