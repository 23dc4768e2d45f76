"""Work out how many agents a call centre needs.

Simulates callers who queue for the next free agent, and compares the share that has to wait with Erlang's
formula of 1917, on which telephone exchanges were built.
"""

import heapq
import math
import random

CALLS_AN_HOUR = 120
TALK_MINUTES = 4.0
CALLS = 20_000
TARGET = 0.20  # at most this share of callers may have to wait


def erlang_c(agents: int, load: float) -> float:
    """Return the probability that a caller has to wait."""
    busy = load**agents / math.factorial(agents) * agents / (agents - load)
    return busy / (sum(load**n / math.factorial(n) for n in range(agents)) + busy)


def simulate(agents: int, rng: random.Random) -> tuple[float, float, float]:
    """Return the share of callers who waited, their mean wait and the longest, in seconds."""
    free_at = [0.0] * agents
    now, waits = 0.0, []
    for _ in range(CALLS):
        now += rng.expovariate(CALLS_AN_HOUR / 60)
        start = max(now, heapq.heappop(free_at))
        heapq.heappush(free_at, start + rng.expovariate(1 / TALK_MINUTES))
        waits.append((start - now) * 60)
    waited = [wait for wait in waits if wait > 0]
    return len(waited) / CALLS, sum(waited) / len(waited), max(waited)


def main() -> None:
    load = CALLS_AN_HOUR / 60 * TALK_MINUTES
    rng = random.Random(1917)
    print(f"{CALLS_AN_HOUR} calls an hour of {TALK_MINUTES:.0f} minutes: {load:.0f} agents are busy on average")
    print(f"{CALLS:,} calls simulated for each row\n")
    print(f"{'agents':>6}{'must wait':>11}{'Erlang':>9}{'mean wait':>12}{'longest':>10}")
    enough = None
    for agents in range(9, 15):
        share, mean, longest = simulate(agents, rng)
        expected = erlang_c(agents, load)
        print(f"{agents:>6}{share:>11.1%}{expected:>9.1%}{mean:>10.0f} s{longest:>8.0f} s")
        if abs(share - expected) > 0.05:
            raise SystemExit(f"{agents} agents: the simulation is far from Erlang's formula")
        if enough is None and expected <= TARGET:
            enough = agents
    print(f"\n{enough} agents suffice, so that at most {TARGET:.0%} of the callers wait")


if __name__ == "__main__":
    main()
