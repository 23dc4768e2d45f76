"""An application that was written for `RedisBroker`, with tests of its own (`own_tests.py`)."""
