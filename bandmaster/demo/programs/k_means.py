"""Group a shop's customers by age and spending with k-means.

The customers are drawn around four known centres. The groups found must lie close to those, and the spread
within the groups must never rise from one round to the next.
"""

import math
import random

CENTRES = {"students": (22, 35), "families": (38, 160), "pensioners": (70, 80), "collectors": (50, 310)}
Point = tuple[float, float]


def nearest(point: Point, means: list[Point]) -> int:
    """Return the index of the mean closest to ``point``."""
    return min(range(len(means)), key=lambda index: math.dist(point, means[index]))


def spread_out(points: list[Point], count: int) -> list[Point]:
    """Choose starting means: each the point farthest from all chosen before."""
    means = [points[0]]
    while len(means) < count:
        means.append(max(points, key=lambda point: min(math.dist(point, mean) for mean in means)))
    return means


def k_means(points: list[Point], count: int) -> tuple[list[Point], list[list[Point]], int]:
    """Return the means, their groups and the number of rounds until nothing moved."""
    means, last_spread, rounds = spread_out(points, count), math.inf, 0
    while True:
        groups: list[list[Point]] = [[] for _ in means]
        for point in points:
            groups[nearest(point, means)].append(point)
        rounds += 1
        spread = sum(math.dist(point, mean) ** 2 for mean, group in zip(means, groups, strict=True) for point in group)
        if spread > last_spread + 1e-6:
            raise SystemExit("the spread rose: the algorithm is broken")
        moved = [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]
        if moved == means:
            return means, groups, rounds
        means, last_spread = moved, spread


def main() -> None:
    rng = random.Random(8)
    points = [(rng.gauss(age, 4), rng.gauss(spending, 14)) for age, spending in CENTRES.values() for _ in range(500)]
    rng.shuffle(points)
    means, groups, rounds = k_means(points, len(CENTRES))

    print(f"{len(points)} customers, {rounds} rounds\n")
    print(f"{'group':<12}{'customers':>10}{'age':>8}{'spends':>9}")
    named = set()
    for (age, spending), group in sorted(zip(means, groups, strict=True)):
        name = min(CENTRES, key=lambda centre: math.dist(CENTRES[centre], (age, spending)))
        named.add(name)
        print(f"{name:<12}{len(group):>10}{age:>8.1f}{spending:>9.2f}")
        if math.dist(CENTRES[name], (age, spending)) > 5:
            raise SystemExit(f"the {name} were not found where they are")
    if len(named) != len(CENTRES):
        raise SystemExit("two groups share a centre")


if __name__ == "__main__":
    main()
