"""Carve a random maze and find the shortest way out.

The maze is a spanning tree, so that there is exactly one way between any two places; the way found by
breadth-first search must be that one.
"""

import random
from collections import deque
from itertools import pairwise

WIDTH, HEIGHT = 26, 9
Place = tuple[int, int]


def neighbours(place: Place) -> list[Place]:
    """Return the places next to this one."""
    x, y = place
    around = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
    return [(a, b) for a, b in around if 0 <= a < WIDTH and 0 <= b < HEIGHT]


def carve(rng: random.Random) -> set[frozenset[Place]]:
    """Return the open passages, dug by walking at random and going back from dead ends."""
    passages = set()
    trail, seen = [(0, 0)], {(0, 0)}
    while trail:
        choices = [place for place in neighbours(trail[-1]) if place not in seen]
        if choices:
            following = rng.choice(choices)
            passages.add(frozenset((trail[-1], following)))
            seen.add(following)
            trail.append(following)
        else:
            trail.pop()
    return passages


def solve(passages: set[frozenset[Place]], start: Place, goal: Place) -> list[Place]:
    """Return the shortest way, both ends included."""
    came_from = {start: start}
    queue = deque([start])
    while queue:
        place = queue.popleft()
        for following in neighbours(place):
            if following not in came_from and frozenset((place, following)) in passages:
                came_from[following] = place
                queue.append(following)
    if goal not in came_from:
        raise SystemExit("there is no way out")
    way = [goal]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def main() -> None:
    passages = carve(random.Random(1978))
    way = solve(passages, (0, 0), (WIDTH - 1, HEIGHT - 1))

    print("+" + "--+" * WIDTH)
    for y in range(HEIGHT):
        cells, floor = "|", "+"
        for x in range(WIDTH):
            cells += "<>" if (x, y) in way else "  "
            cells += " " if frozenset(((x, y), (x + 1, y))) in passages else "|"
            floor += "  +" if frozenset(((x, y), (x, y + 1))) in passages else "--+"
        print(f"{cells}\n{floor}")
    print(f"{len(way) - 1} steps through {WIDTH * HEIGHT} places")

    if len(passages) != WIDTH * HEIGHT - 1:
        raise SystemExit("not a tree: some place is closed off or can be reached in two ways")
    steps = [frozenset(pair) for pair in pairwise(way)]
    if not passages.issuperset(steps) or len(set(way)) != len(way):
        raise SystemExit("the way goes through a wall or in a circle")


if __name__ == "__main__":
    main()
