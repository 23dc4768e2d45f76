"""Choose the projects that bring the most within a budget.

The knapsack problem by dynamic programming, in steps of a thousand; every one of the 32,768 possible choices
is tried as well, and none may be better.
"""

from itertools import compress, product
from typing import NamedTuple


class Project(NamedTuple):
    name: str
    cost: int  # thousands
    benefit: int  # thousands a year


PROJECTS = [
    Project("solar roof", 84, 31), Project("heat pump", 62, 24), Project("new windows", 47, 14),
    Project("LED lighting", 12, 9), Project("warehouse robot", 120, 41), Project("web shop", 55, 26),
    Project("second forklift", 28, 8), Project("staff training", 18, 11), Project("CRM system", 36, 13),
    Project("loading dock", 71, 19), Project("electric van", 45, 15), Project("trade fair", 22, 9),
    Project("packing machine", 66, 27), Project("intranet", 15, 4), Project("apprentice", 30, 12),
]  # fmt: skip
BUDGET = 300


def best_choice(projects: list[Project], budget: int) -> list[Project]:
    """Return the projects with the greatest benefit that together cost at most ``budget``."""
    best = [[0] * (budget + 1)]  # best[n][money]: with the first n projects
    for _, cost, benefit in projects:
        row = best[-1]
        best.append([max(row[m], row[m - cost] + benefit if m >= cost else 0) for m in range(budget + 1)])
    chosen, money = [], budget
    for number in range(len(projects), 0, -1):
        if best[number][money] != best[number - 1][money]:
            chosen.append(projects[number - 1])
            money -= projects[number - 1].cost
    return chosen[::-1]


def main() -> None:
    chosen = best_choice(PROJECTS, BUDGET)
    cost, benefit = sum(p.cost for p in chosen), sum(p.benefit for p in chosen)
    print(f"budget {BUDGET:,} thousand, {len(PROJECTS)} projects\n")
    for project in PROJECTS:
        mark = "x" if project in chosen else " "
        print(f"[{mark}] {project.name:<16}{project.cost:>5}{project.benefit:>5} a year")
    print(f"\nchosen: cost {cost}, bring {benefit} a year")

    every_choice = (list(compress(PROJECTS, marks)) for marks in product((0, 1), repeat=len(PROJECTS)))
    best = max(sum(p.benefit for p in choice) for choice in every_choice if sum(p.cost for p in choice) <= BUDGET)
    if cost > BUDGET or benefit != best:
        raise SystemExit(f"brute force found {best} within the budget")


if __name__ == "__main__":
    main()
