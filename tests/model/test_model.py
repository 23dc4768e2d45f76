"""The engine against the naive model: Hypothesis plays long random games with the real scripts on a real server.

After each step the two must agree on every execution, and every invariant must hold in what Redis contains. The normal
run plays the same games each time; BANDMASTER_MODEL_EXAMPLES=3000 plays that many, new ones each time.
"""

import os

import redis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from model.control_rules import ControlRules
from model.grant_rules import GrantRules
from model.queue_rules import QueueRules

NORMAL_EXAMPLES = 100
STEPS = 50


class Game(QueueRules, GrantRules, ControlRules):
    """All rules together."""


def test_the_engine_agrees_with_the_naive_model_after_every_step(redis_client: redis.Redis) -> None:
    examples = int(os.environ.get("BANDMASTER_MODEL_EXAMPLES", "0"))

    class OnThisServer(Game):
        def __init__(self) -> None:
            super().__init__(redis_client)

    run_state_machine_as_test(
        OnThisServer,
        settings=settings(
            max_examples=examples or NORMAL_EXAMPLES,
            stateful_step_count=STEPS,
            derandomize=not examples,
            database=None,
            deadline=None,
            print_blob=bool(examples),
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
        ),
    )
