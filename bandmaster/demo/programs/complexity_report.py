"""Measure the cyclomatic complexity of the functions in Python's own packages.

One plus the number of places where a function can branch, counted in the syntax tree. A function of known
complexity is measured first, to prove the counter.
"""

import ast
import statistics
import sysconfig
from collections.abc import Iterator
from pathlib import Path

PACKAGES = ["json", "http", "logging", "concurrent/futures", "html"]
BRANCHES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.comprehension)
PROOF = """
def grade(points, bonus):
    if points is None or points < 0:
        raise ValueError
    for step in bonus:
        points += step if step > 0 else 0
    return "pass" if points >= 50 else "fail"
"""


def complexity(function: ast.AST) -> int:
    """Count the independent paths through a function."""
    total = 1
    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        elif isinstance(node, BRANCHES):
            total += 1
    return total


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield every function and method."""
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def main() -> None:
    if [complexity(function) for function in functions(ast.parse(PROOF))] != [6]:
        raise SystemExit("the counter miscounts")

    stdlib = Path(sysconfig.get_path("stdlib"))
    measured = []
    for path in sorted(file for package in PACKAGES for file in (stdlib / package).glob("*.py")):
        for function in functions(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path.relative_to(stdlib)}:{function.lineno} {function.name}"
            measured.append((complexity(function), where))
    if not measured:
        raise SystemExit("no source found")

    values = [value for value, _ in measured]
    print(f"{len(values)} functions, median {statistics.median(values):.0f}, mean {statistics.mean(values):.1f}")
    print(f"over 10: {sum(value > 10 for value in values)}\n")
    for value, where in sorted(measured, reverse=True)[:12]:
        print(f"{value:>3}  {where}")


if __name__ == "__main__":
    main()
