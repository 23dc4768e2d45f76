"""Which server holds the queue: found by its address or its sentinels, or started by the process itself."""
