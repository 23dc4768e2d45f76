"""Tenants with limits: of each, so many reports run at once on all workers together, and none waits for another's.

    dramatiq tenants                   # a worker; as many as you like, on any machine
    python tenants.py                  # in another terminal: sends eight reports of two tenants
    bandmaster limit tenant:acme 1     # what an operator says holds at once, and goes before the code

The actor's arguments name the gates that its messages have to pass. A tenant needs no preparation: the limit for the
kind `tenant:*` holds for each tenant that ever comes, one by one.
"""

import time

import dramatiq

from bandmaster import BandedRedisBroker, actor

broker = BandedRedisBroker.from_settings()
dramatiq.set_broker(broker)


@actor(queue_name="tenants", band="NORMAL", gates=["tenant:{tenant}"], limits={"tenant:*": 2})
def report(tenant: str, month: int) -> None:
    print(f"{tenant} {month} begins", flush=True)
    time.sleep(0.2)
    print(f"{tenant} {month} is done", flush=True)


def main() -> None:
    # Six of a tenant that is in a hurry, and then two of another, which do not wait behind them.
    for month in range(1, 7):
        report.send("acme", month)
    for month in range(1, 3):
        report.send("zeta", month)


if __name__ == "__main__":
    main()
