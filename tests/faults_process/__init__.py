"""Faults of whole processes: real workers and schedulers, killed, stopped and restarted at chosen moments."""
