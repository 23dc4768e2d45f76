"""A process that takes slots as its test tells it, a command a line: `enter WHO`, `leave WHO`, or the end of its input.

Who gets a slot is appended to the list `order`.
"""

import sys
import threading

import redis

from bandmaster import Slots


def main() -> None:
    """Arguments: URL, name, limit."""
    url, name, limit = sys.argv[1:]
    slots, client = Slots.from_url(url), redis.Redis.from_url(url)
    leave: dict[str, threading.Event] = {}

    def take(who: str, told: threading.Event) -> None:
        with slots.slot(name, limit=int(limit), timeout=120):
            client.rpush("order", who)
            told.wait(120)

    for line in sys.stdin:
        command, who = line.split()
        if command == "enter":
            told = leave[who] = threading.Event()
            threading.Thread(target=take, args=(who, told), daemon=True).start()
        else:
            leave[who].set()


if __name__ == "__main__":
    main()
