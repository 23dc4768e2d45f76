"""How many requests a caller may send a minute: counted in Redis for all processes, and handed out by each."""
