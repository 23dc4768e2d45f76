"""What a worker process does: the pump, the consumers, the threads and their permits, repairs and health."""
