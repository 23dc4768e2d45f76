"""Solve a mix of alloys as linear equations, exactly, with fractions.

Gaussian elimination without rounding: put into the equations, the solution must satisfy them to the last
digit. An ill-conditioned Hilbert matrix shows what floating point would have made of it.
"""

from fractions import Fraction

ALLOYS = {  # percent of copper, zinc, tin, lead
    "brass": (63, 37, 0, 0),
    "bronze": (88, 0, 12, 0),
    "gunmetal": (88, 2, 8, 2),
    "solder": (0, 0, 60, 40),
}
TARGET = (1410, 270, 228, 92)  # grams of each metal wanted


def solve(matrix: list[list], right: list) -> list:
    """Return x with ``matrix * x == right``, in the arithmetic of the entries."""
    size = len(matrix)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        if rows[pivot][column] == 0:
            raise SystemExit("the equations have no single solution")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        for row in range(size):
            if row != column:
                factor = rows[row][column] / rows[column][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return [rows[index][size] / rows[index][index] for index in range(size)]


def multiply(matrix: list[list], vector: list) -> list:
    """Return ``matrix * vector``."""
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def main() -> None:
    metals = [[Fraction(percent, 100) for percent in row] for row in zip(*ALLOYS.values(), strict=True)]
    grams = solve(metals, [Fraction(amount) for amount in TARGET])
    for name, amount in zip(ALLOYS, grams, strict=True):
        print(f"{name:<10}{float(amount):>10.3f} g   exactly {amount}")
    if multiply(metals, grams) != list(TARGET):
        raise SystemExit("the mix does not contain what was asked for")
    print(f"{'in all':<10}{float(sum(grams)):>10.3f} g, as much as the metals weigh\n")

    print("Hilbert matrix, true solution all ones")
    for size in (4, 8, 12):
        hilbert = [[Fraction(1, i + j + 1) for j in range(size)] for i in range(size)]
        right = multiply(hilbert, [1] * size)
        exact = solve(hilbert, right)
        rounded = solve([[float(x) for x in row] for row in hilbert], [float(x) for x in right])
        error = max(abs(value - 1) for value in rounded)
        print(f"  {size:>2} x {size:<2}  floating point is off by {error:.1e}, fractions by {max(exact) - min(exact)}")
        if exact != [1] * size:
            raise SystemExit("the exact solution is not exact")


if __name__ == "__main__":
    main()
