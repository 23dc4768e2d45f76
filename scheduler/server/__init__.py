"""Finds the server that holds the queue, by its address or its sentinels, or starts an embedded one."""
