"""Results: of a body that returns, of one that raises, and of one that never runs.

    dramatiq results        # a worker
    python results.py       # in another terminal: sends messages and waits for their results

Results are Dramatiq's own, and are kept in Redis for ten minutes. Bandmaster adds the last case: a message that is
cancelled or expires before it ran has a result, too, so that nobody waits for it until a timeout.
"""

import dramatiq
from dramatiq.results import ResultFailure, Results
from dramatiq.results.backends import RedisBackend

from bandmaster import BandedRedisBroker, actor

broker = BandedRedisBroker.from_settings()
broker.add_middleware(Results(backend=RedisBackend(client=broker.client)))
dramatiq.set_broker(broker)

WAIT_MS = 30_000


@actor(queue_name="results", band="HIGH", store_results=True, max_retries=0)
def count_words(text: str) -> int:
    if not text:
        raise ValueError("there is no text")
    return len(text.split())


def main() -> None:
    message = count_words.send("the quick brown fox")
    print("one text:", message.get_result(block=True, timeout=WAIT_MS))

    messages = [count_words.send(text) for text in ("one", "and two", "and then three")]
    print("several:", [message.get_result(block=True, timeout=WAIT_MS) for message in messages])

    message = count_words.send("")
    try:
        message.get_result(block=True, timeout=WAIT_MS)
    except ResultFailure as failure:
        print("it failed:", failure.orig_exc_type, failure.orig_exc_msg)

    message = count_words.send_with_options(args=("not today",), delay=86_400_000)
    broker.queue.cancel(message.options["execution_id"])
    try:
        message.get_result(block=True, timeout=WAIT_MS)
    except ResultFailure as failure:
        print("it never ran:", failure.orig_exc_type)


if __name__ == "__main__":
    main()
