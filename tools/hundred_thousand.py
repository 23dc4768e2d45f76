"""``python -m tools.hundred_thousand``: simulates shards that are to end 100,000 executions a second.

In the flow: nothing of the product. The constants were measured (docs/figures.md names each); the program plays a
minute of arrivals, servers as single queues with those service times, and the outage of one of them, and prints what a
deployment needs. It says nothing of what was not measured: networks between hosts, or servers with more cores.
"""

import argparse
import heapq
import random
import sys
from dataclasses import dataclass
from typing import Final

PARK_TOGETHER_US: Final = 51.1
"""At most: `send_many` sends 19,564 a second, one process and its server together."""
PARK_US: Final = 111.0
"""A park by itself, on the server."""
END_AND_ADMIT_US: Final = 167.0
"""A release that admits the next, on the server."""
DRAINED_BY_PROCESS: Final = 2_111.0
"""Executions a second that a worker process with 8 threads ends, bodies of one INCR."""
MOST_USED: Final = 0.7
"""A server is planned for this share of its time: waits grow without bound towards 1."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one way of sending needs."""

    name: str
    cost_us: float

    def shards(self, rate: float) -> int:
        """How many servers end so many a second, each used as planned."""
        return -int(-rate * self.cost_us / 1e6 // MOST_USED)


PLANS: Final = (
    Plan("sent one by one", PARK_US + END_AND_ADMIT_US),
    Plan("sent a hundred together", PARK_TOGETHER_US + END_AND_ADMIT_US),
)


def waits_ms(rate: float, cost_us: float, seconds: float, chance: random.Random) -> list[float]:
    """Play one server: executions come at random, and are served one after the other.

    Returns:
        How long each waited for the server, in ms.
    """
    at = free = 0.0
    waits: list[float] = []
    while at < seconds:
        at += chance.expovariate(rate)
        waits.append(max(0.0, free - at) * 1_000)
        free = max(free, at) + cost_us / 1e6
    return waits


def catching_up_seconds(rate: float, cost_us: float, outage_seconds: float) -> float:
    """How long a shard that was away needs until nothing that came meanwhile waits any more."""
    spare = 1e6 / cost_us - rate
    return rate * outage_seconds / spare


def imbalance(shards: int, keys: int, chance: random.Random) -> float:
    """The load of the fullest shard by that of the mean, where so many lanes of unequal size are placed greedily.

    The sizes are assumed (Pareto, 1.2: a few lanes have most of the load), not measured.
    """
    sizes = sorted((chance.paretovariate(1.2) for _ in range(keys)), reverse=True)
    loads = [0.0] * shards
    heapq.heapify(loads)
    for size in sizes:
        heapq.heappush(loads, heapq.heappop(loads) + size)
    return max(loads) / (sum(loads) / shards)


def main() -> int:
    """Print the plans."""
    parser = argparse.ArgumentParser(prog="python -m tools.hundred_thousand")
    parser.add_argument("--rate", type=float, default=100_000, help="executions a second in all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rate, chance = options.rate, random.Random(options.seed)
    say = sys.stdout.write
    say(f"{rate:,.0f} executions a second, servers used to {MOST_USED:.0%}\n")
    for plan in PLANS:
        shards = plan.shards(rate)
        each = rate / shards
        waits = sorted(waits_ms(each, plan.cost_us, 20, chance))
        say(
            f"{plan.name}: {plan.cost_us:.0f} µs each, at most {1e6 / plan.cost_us:,.0f} a second a server, "
            f"{shards} shards of {each:,.0f} a second\n"
            f"  wait for the server: p50 {waits[len(waits) // 2]:.2f} ms, p99 {waits[len(waits) * 99 // 100]:.2f} ms\n"
            f"  after 60 s without one shard: {each * 60:,.0f} wait there ({1 / shards:.1%} of all is late), "
            f"caught up in {catching_up_seconds(each, plan.cost_us, 60):,.0f} s\n"
        )
        for keys in (shards, 4 * shards, 20 * shards):
            say(f"  {keys:,} lanes: the fullest shard has {imbalance(shards, keys, chance):.2f} × the mean\n")
    say(f"worker processes with 8 threads, empty bodies: {-int(-rate // DRAINED_BY_PROCESS)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
