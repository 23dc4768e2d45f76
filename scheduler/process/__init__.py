"""The scheduler process: leader election, the leader's ticks, and the health file for a probe."""
