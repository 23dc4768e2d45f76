"""Draw the import graph of the Python standard library: hubs and cycles.

Only imports at the top level count, which run when a module is loaded. Cycles are strongly connected
components (Tarjan's algorithm); all modules of one must reach each other.
"""

import re
import sysconfig
from collections import Counter
from pathlib import Path

IMPORT = re.compile(r"^(?:from (\w+)[\w.]* import|import ([\w., ]+))", re.MULTILINE)


def read_graph() -> dict[str, set[str]]:
    """Return module or package -> those that it imports."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    sources = [(path.stem, path) for path in stdlib.glob("*.py")]
    sources += [(init.parent.name, path) for init in stdlib.glob("*/__init__.py") for path in init.parent.glob("*.py")]
    graph: dict[str, set[str]] = {name: set() for name, _ in sources if name not in {"test", "idlelib", "lib2to3"}}
    for name, path in sources:
        if name in graph:
            for origin, names in IMPORT.findall(path.read_text(encoding="utf-8", errors="replace")):
                found = [origin] if origin else [re.split(r"[. ]", part.strip())[0] for part in names.split(",")]
                graph[name] |= graph.keys() & set(found) - {name}
    return graph


def components(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components, by Tarjan's algorithm."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack, found = [], []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for target in sorted(graph[node]):
            if target not in order:
                visit(target)
            if target in stack:
                low[node] = min(low[node], low[target])
        if low[node] == order[node]:
            start = stack.index(node)
            found.append(sorted(stack[start:]))
            del stack[start:]

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    """Return every module that loading ``start`` loads."""
    seen, todo = set(), [start]
    while todo:
        for target in graph[todo.pop()] - seen:
            seen.add(target)
            todo.append(target)
    return seen


def main() -> None:
    graph = read_graph()
    hubs = Counter(target for targets in graph.values() for target in targets)
    print(f"{len(graph)} modules, {hubs.total()} imports\n")
    print("most imported:", ", ".join(f"{name} ({count})" for name, count in hubs.most_common(8)))
    heaviest = sorted(((len(reachable(graph, name)), name) for name in graph), reverse=True)[:5]
    print("load the most:", ", ".join(f"{name} ({count})" for count, name in heaviest))
    cycles = [component for component in components(graph) if len(component) > 1]
    for cycle in cycles:
        print("cycle:", " <-> ".join(cycle))
        if any(not set(cycle) <= reachable(graph, name) for name in cycle):
            raise SystemExit(f"not a cycle: {cycle}")
    print(f"\ncycles found and confirmed: {len(cycles)}")


if __name__ == "__main__":
    main()
