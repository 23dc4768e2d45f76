"""Tenants with limits: each may run a number of reports at once on all workers together, and none waits for another.

    dramatiq tenants                   # a worker; as many as you like, on any machine
    python tenants.py                  # in another terminal: sends eight reports of two tenants
    bandmaster limit tenant:acme 1     # an operator's limit takes effect at once, and overrides the code

The actor's arguments determine the gates that its messages have to pass. A tenant needs no preparation: the limit for
the kind `tenant:*` applies to each tenant separately, also to new ones.
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
    # First six reports of one tenant, and then two of another, which do not wait behind those.
    for month in range(1, 7):
        report.send("acme", month)
    for month in range(1, 3):
        report.send("zeta", month)


if __name__ == "__main__":
    main()
