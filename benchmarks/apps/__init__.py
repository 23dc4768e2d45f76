"""The applications of the measured worker processes: `dramatiq benchmarks.apps.bare:broker` or `…gated:broker`.

Each is an application as a user writes it: one broker, its actors, nothing else.
"""
