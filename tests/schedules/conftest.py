"""The schedules of an empty server, with a clock that a test turns."""

import pytest
import redis
from schedule_playing import Played


@pytest.fixture
def played(redis_client: redis.Redis) -> Played:
    return Played(redis_client)
