"""An ordinary application: it confirms orders, at most two of a shop at a time, and writes to the customer.

Its tests are in `test_orders.py`. Nothing in this file is there for the tests.
"""

from queue import SimpleQueue

import dramatiq

from bandmaster import BandedRedisBroker, actor

broker = BandedRedisBroker.from_settings()
dramatiq.set_broker(broker)
letters: SimpleQueue[str] = SimpleQueue()  # in place of a mail server


@actor(queue_name="orders", band="NORMAL", gates=["shop:{shop}"], limits={"shop:*": 2}, max_retries=0)
def confirm(shop: str, number: int) -> None:
    if number < 1:
        raise ValueError(f"{number} is no order")
    tell.send(f"{shop} {number} is confirmed")


@actor(queue_name="letters", band="HIGH", max_retries=0)
def tell(text: str) -> None:
    letters.put(text)
