"""A pipeline of gated actors: each step waits in its own band and under its own limits.

    dramatiq pipelines          # a worker
    python pipelines.py         # in another terminal: runs six pipelines and waits for their results

A picture is fetched, shrunk and stored. Two at a time are fetched from one site, and one at a time is shrunk, from
whatever site. Later steps have higher bands, so that begun pipelines are finished before new ones begin. A step is
enqueued when the previous one has ended, with the previous result as its last argument.
"""

import time
from typing import Any

import dramatiq
from dramatiq import pipeline
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bandmaster import BandedRedisBroker, actor

broker = BandedRedisBroker.from_settings()
broker.add_middleware(Results(backend=RedisBackend(client=broker.client)))
dramatiq.set_broker(broker)

WAIT_MS = 30_000


@actor(queue_name="pictures", band="LOW", gates=["site:{site}"], limits={"site:*": 2})
def fetch(site: str, name: str) -> str:
    return at_work(f"fetch from {site}", f"{site}/{name}")


@actor(queue_name="pictures", band="NORMAL", limits={"action:shrink": 1})
def shrink(picture: str) -> str:
    return at_work("shrink", f"{picture}, small")


@actor(queue_name="pictures", band="HIGH", store_results=True)
def store(folder: str, picture: str) -> str:
    return at_work("store", f"{folder}/{picture}")


def at_work(step: str, result: str) -> str:
    """Stands for the work of a step."""
    print(f"[{step}] begins", flush=True)
    time.sleep(0.1)
    print(f"[{step}] is done", flush=True)
    return result


def main() -> None:
    pipelines: list[Any] = [
        pipeline(
            [
                fetch.message(site, name),
                shrink.message_with_options(),  # its only argument is the result of the previous step
                store.message_with_options(args=("album",)),
            ]
        ).run()
        for site in ("north", "south")
        for name in ("lake", "hill", "wood")
    ]
    for each in pipelines:
        print(each.get_result(block=True, timeout=WAIT_MS))


if __name__ == "__main__":
    main()
