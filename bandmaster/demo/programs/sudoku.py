"""Solve sudokus, easy to fiendish, and prove each solution the only one.

Fills the square with the fewest candidates first and goes back when stuck. The search runs on after the first
solution: a proper sudoku has no second.
"""

import time
from collections.abc import Iterator

PUZZLES = {
    "newspaper": "53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79",
    "Inkala 2010": "..53.....8......2..7..1.5..4....53...1..7...6..32...8..6.5....9..4....3......97..",
    "needs guessing": "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
}


def units(square: int) -> set[int]:
    """Return the twenty squares that share a row, column or box with this one."""
    row, column = divmod(square, 9)
    corner = row // 3 * 27 + column // 3 * 3
    box = {corner + 9 * r + c for r in range(3) for c in range(3)}
    return set(range(row * 9, row * 9 + 9)) | set(range(column, 81, 9)) | box


PEERS = [sorted(units(square) - {square}) for square in range(81)]


def solutions(candidates: list[str]) -> Iterator[str]:
    """Yield every way to fill the grid, given each square's remaining digits."""
    choices = [(len(digits), square) for square, digits in enumerate(candidates) if len(digits) > 1]
    if not choices:
        yield "".join(candidates)
        return
    _, square = min(choices)
    for digit in candidates[square]:
        further = list(candidates)
        if place(further, square, digit):
            yield from solutions(further)


def place(candidates: list[str], square: int, digit: str) -> bool:
    """Fill a square and all that follows from it; False if that leads to a contradiction."""
    candidates[square] = digit
    for peer in PEERS[square]:
        if digit in candidates[peer]:
            rest = candidates[peer].replace(digit, "")
            if not rest:
                return False
            candidates[peer] = rest
            if len(rest) == 1 and not place(candidates, peer, rest):
                return False
    return True


def main() -> None:
    for name, puzzle in PUZZLES.items():
        started = time.perf_counter()
        candidates = ["123456789"] * 81
        if not all(place(candidates, square, digit) for square, digit in enumerate(puzzle) if digit != "."):
            raise SystemExit(f"{name}: the clues contradict each other")
        found = list(solutions(candidates))
        elapsed_ms = (time.perf_counter() - started) * 1000
        print(f"{name}: {81 - puzzle.count('.')} clues, {len(found)} solution, {elapsed_ms:.0f} ms")
        for solution in found:
            if any({solution[other] for other in units(square)} != set("123456789") for square in range(81)):
                raise SystemExit(f"{name}: a row, column or box is wrong")
            if any(clue not in (".", digit) for clue, digit in zip(puzzle, solution, strict=True)):
                raise SystemExit(f"{name}: a clue was overwritten")
        if len(found) != 1:
            raise SystemExit(f"{name} is not a proper sudoku")
    print(f"\n{name}")
    for start in range(0, 81, 9):
        print(" ".join(found[0][start : start + 9]))


if __name__ == "__main__":
    main()
