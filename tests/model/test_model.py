"""The engine against the naive model: Hypothesis plays long random games with the real scripts on a real server.

After each step the two must agree on every execution, and every invariant must hold in what Redis contains. The same
games are played each time, a set of them before each commit, one more in each check, and ten more each night;
BANDMASTER_MODEL_EXAMPLES=3000 plays that many instead, new ones each time.
"""

import os

import pytest
import redis
from hypothesis import HealthCheck, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from model.control_rules import ControlRules
from model.grant_rules import GrantRules
from model.queue_rules import QueueRules

GAMES_A_SET = 50
STEPS = 50
NEW_GAMES = int(os.environ.get("BANDMASTER_MODEL_EXAMPLES", "0"))
SETS = [
    0,
    pytest.param(1, marks=pytest.mark.slow),
    *(pytest.param(number, marks=pytest.mark.nightly) for number in range(2, 12)),
]


class Game(QueueRules, GrantRules, ControlRules):
    """All rules together."""


@pytest.mark.parametrize("games", SETS[:1] if NEW_GAMES else SETS)
def test_the_engine_agrees_with_the_naive_model_after_every_step(redis_client: redis.Redis, games: int) -> None:
    class OnThisServer(Game):
        def __init__(self) -> None:
            super().__init__(redis_client)

    run_state_machine_as_test(
        OnThisServer if NEW_GAMES else seed(games)(OnThisServer),
        settings=settings(
            max_examples=NEW_GAMES or GAMES_A_SET,
            stateful_step_count=STEPS,
            database=None,
            deadline=None,
            print_blob=bool(NEW_GAMES),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        ),
    )
