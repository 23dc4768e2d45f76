"""Shorten a delivery round through eighty stops.

Starts with the nearest-neighbour tour and untangles it with 2-opt: while two legs can be exchanged for
shorter ones, do so. The tour must visit every stop once and never get longer.
"""

import math
import random

STOPS = 80
Point = tuple[float, float]


def length(tour: list[Point]) -> float:
    """Return the length of the closed tour in kilometres."""
    return sum(math.dist(tour[i - 1], tour[i]) for i in range(len(tour)))


def nearest_neighbour(stops: list[Point]) -> list[Point]:
    """Return a tour that always goes on to the nearest stop not yet visited."""
    tour, left = [stops[0]], set(stops[1:])
    while left:
        following = min(left, key=lambda stop: math.dist(tour[-1], stop))
        tour.append(following)
        left.remove(following)
    return tour


def two_opt(tour: list[Point]) -> tuple[list[Point], int]:
    """Return the tour with all crossings undone, and the number of exchanges."""
    tour, exchanges, improved = list(tour), 0, True
    while improved:
        improved = False
        for i in range(1, len(tour) - 1):
            for j in range(i + 1, len(tour)):
                a, b, c, d = tour[i - 1], tour[i], tour[j], tour[(j + 1) % len(tour)]
                saved = math.dist(a, b) + math.dist(c, d) - math.dist(a, c) - math.dist(b, d)
                if saved > 1e-9:
                    tour[i : j + 1] = tour[i : j + 1][::-1]
                    exchanges += 1
                    improved = True
    return tour, exchanges


def main() -> None:
    rng = random.Random(80)
    stops = [(round(rng.uniform(0, 40), 2), round(rng.uniform(0, 25), 2)) for _ in range(STOPS)]
    first = nearest_neighbour(stops)
    best, exchanges = two_opt(first)

    print(f"{STOPS} stops in an area of 40 x 25 km\n")
    print(f"in the order of the orders {length(stops):>8.1f} km")
    print(f"always to the nearest      {length(first):>8.1f} km")
    print(f"after {exchanges:>3} exchanges        {length(best):>8.1f} km")
    print(f"\nsaved: {1 - length(best) / length(first):.1%} of the driver's own round")
    nearby = sum(min(math.dist(stop, other) for other in stops if other != stop) for stop in stops)
    print(f"no round can be shorter than {nearby:.1f} km")

    if sorted(best) != sorted(stops):
        raise SystemExit("a stop was forgotten or visited twice")
    if not nearby <= length(best) <= length(first):
        raise SystemExit("the tour got longer, or impossibly short")


if __name__ == "__main__":
    main()
