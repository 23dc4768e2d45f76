"""What executions waited for, from the history: when each gate was full, and who held it."""
