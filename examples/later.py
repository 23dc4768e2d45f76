"""Delays and retries: messages for a given time, and bodies that fail and are tried again.

    dramatiq later          # a worker
    python later.py         # in another terminal: sends four messages

A delayed message waits in Redis, not in a worker: it takes no thread and survives every restart. The same is true of
retries. All attempts are one execution, with one id: `bandmaster show ID` lists all of them. An execution that uses up
its attempts becomes a dead letter: `bandmaster dead` lists these, `bandmaster dead retry ID` sends one again.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import dramatiq

from bandmaster import BandedRedisBroker, actor, current_grant

broker = BandedRedisBroker.from_settings()
dramatiq.set_broker(broker)


@actor(queue_name="later", band="NORMAL")
def remind(of: str) -> None:
    print(f"remember {of}", flush=True)


# The pause doubles from 100 ms up to a second. After the first attempt and two retries, it is given up.
@actor(queue_name="later", band="HIGH", max_retries=2, min_backoff=100, max_backoff=1_000, on_retry_exhausted="give_up")
def deliver(item: str, at_home_from_try: int) -> None:
    grant = current_grant()
    assert grant is not None
    if grant.attempt < at_home_from_try:
        raise ConnectionError(f"try {grant.attempt} with the {item}: nobody at home")
    print(f"try {grant.attempt} with the {item}: delivered", flush=True)


@actor(queue_name="later", band="LOW")
def give_up(message: dict[str, Any], tries: dict[str, int]) -> None:
    print(f"the {message['args'][0]} goes back after {tries['retries']} retries", flush=True)


def main() -> None:
    deliver.send("letter", 3)
    deliver.send("parcel", 99)
    tea = remind.send_with_options(args=("the tea",), delay=timedelta(seconds=2))
    remind.send_with_options(args=("the cake",), scheduled_at=datetime.now(UTC) + timedelta(seconds=3))
    print("the tea is", broker.queue.explain(tea.options["execution_id"]).state)


if __name__ == "__main__":
    main()
