"""Run Conway's Game of Life: a glider gun for four hundred generations.

Gosper's gun comes back to its first position every thirty generations, having fired one more glider of five
cells; exactly that is checked.
"""

from collections import Counter

GUN = """
........................O...........
......................O.O...........
............OO......OO............OO
...........O...O....OO............OO
OO........O.....O...OO..............
OO........O...O.OO....O.O...........
..........O.....O.......O...........
...........O...O....................
............OO......................
""".strip().splitlines()
GENERATIONS, PERIOD = 420, 30
Cells = set[tuple[int, int]]


def step(cells: Cells) -> Cells:
    """Return the next generation: born with three neighbours, alive on with two or three."""
    neighbours = Counter((x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy)
    return {cell for cell, count in neighbours.items() if count == 3 or (count == 2 and cell in cells)}


def show(cells: Cells, width: int, height: int) -> None:
    """Print the upper left part of the world, two rows in one line."""
    marks = {(False, False): " ", (True, False): "'", (False, True): ".", (True, True): ":"}
    for y in range(0, height, 2):
        row = "".join(marks[(x, y) in cells, (x, y + 1) in cells] for x in range(width))
        print(row.rstrip())


def main() -> None:
    gun = {(x, y) for y, row in enumerate(GUN) for x, mark in enumerate(row) if mark == "O"}
    cells = gun
    for generation in range(1, GENERATIONS + 1):
        cells = step(cells)
        if generation % PERIOD == 0:
            fired = generation // PERIOD
            if not gun <= cells or len(cells) != len(gun) + 5 * fired:
                raise SystemExit(f"generation {generation}: {len(cells)} cells, not the gun and {fired} gliders")

    show(cells, width=76, height=34)
    print(f"\nafter {GENERATIONS} generations: {len(cells)} cells, {GENERATIONS // PERIOD} gliders on their way")


if __name__ == "__main__":
    main()
