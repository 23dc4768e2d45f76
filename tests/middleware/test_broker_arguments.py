"""What a broker is made with is checked at once, and not by its first message."""

from typing import Any

import pytest

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.model.errors import InvalidRequest


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"deadline_seconds": 0}, "deadline_seconds: 0 is no time; allowed: seconds, above 0"),
        ({"deadline_seconds": "x"}, "deadline_seconds: 'x' is no time; allowed: seconds, above 0"),
        ({"deadline_seconds": float("nan")}, "deadline_seconds: nan is no time; allowed: seconds, above 0"),
        ({"max_message_bytes": -1}, "max_message_bytes: -1 is no size; allowed: bytes, 1 or more"),
        ({"max_message_bytes": None}, "max_message_bytes: None is no size; allowed: bytes, 1 or more"),
    ],
)
def test_an_argument_that_could_never_work_is_refused(arguments: dict[str, Any], problem: str, redis_url: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        BandedRedisBroker(url=redis_url, **arguments)
    assert str(refusal.value) == problem
