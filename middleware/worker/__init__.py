"""The parts of a worker process: pump, consumers, threads, repairs, health file."""
