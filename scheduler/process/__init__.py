"""The scheduler process: who leads, what it does each tick, and the file that a probe looks at."""
