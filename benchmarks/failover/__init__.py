"""What a failover under load loses of the executions that were acknowledged."""
