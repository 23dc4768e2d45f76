"""Plan the fastest train journeys between European cities.

Dijkstra's algorithm with a heap finds each route; the lengths of all are checked against Floyd and Warshall's
table of all pairs.
"""

import heapq
from itertools import product

MINUTES = """\
London Paris 137, London Brussels 121, Paris Brussels 82, Paris Lyon 118, Paris Strasbourg 106, Paris Zurich 244,
Brussels Amsterdam 112, Brussels Cologne 108, Amsterdam Cologne 157, Cologne Frankfurt 64, Frankfurt Strasbourg 109,
Frankfurt Munich 193, Frankfurt Berlin 235, Amsterdam Berlin 375, Berlin Hamburg 103, Berlin Prague 258,
Berlin Warsaw 317, Hamburg Copenhagen 280, Copenhagen Stockholm 312, Munich Vienna 240, Munich Zurich 210,
Prague Vienna 241, Vienna Budapest 157, Vienna Venice 460, Zurich Milan 197, Milan Venice 147, Milan Rome 190,
Lyon Milan 280, Lyon Barcelona 300, Barcelona Madrid 150, Rome Naples 70, Strasbourg Zurich 150"""
JOURNEYS = [("London", "Rome"), ("Madrid", "Stockholm"), ("Paris", "Budapest"), ("Naples", "Warsaw")]
Graph = dict[str, dict[str, int]]


def read(text: str) -> Graph:
    """Return city -> neighbour -> minutes, in both directions."""
    graph: Graph = {}
    for link in text.replace("\n", " ").split(", "):
        one, other, minutes = link.split()
        graph.setdefault(one, {})[other] = graph.setdefault(other, {})[one] = int(minutes)
    return graph


def fastest(graph: Graph, start: str, goal: str) -> tuple[int, list[str]]:
    """Return the minutes and the cities of the fastest route."""
    queue: list[tuple[int, str, list[str]]] = [(0, start, [start])]
    done = set()
    while queue:
        minutes, city, route = heapq.heappop(queue)
        if city == goal:
            return minutes, route
        if city not in done:
            done.add(city)
            for following, ride in graph[city].items():
                heapq.heappush(queue, (minutes + ride, following, [*route, following]))
    raise SystemExit(f"no way from {start} to {goal}")


def all_pairs(graph: Graph) -> dict[tuple[str, str], float]:
    """Return the fastest time between any two cities (Floyd and Warshall)."""
    times = {(a, b): 0 if a == b else graph[a].get(b, float("inf")) for a, b in product(graph, repeat=2)}
    for via, a, b in product(graph, repeat=3):
        times[a, b] = min(times[a, b], times[a, via] + times[via, b])
    return times


def main() -> None:
    graph = read(MINUTES)
    for start, goal in JOURNEYS:
        minutes, route = fastest(graph, start, goal)
        print(f"{start} to {goal}: {minutes // 60} h {minutes % 60:02} min\n    {' - '.join(route)}")

    times = all_pairs(graph)
    for (a, b), minutes in times.items():
        if fastest(graph, a, b)[0] != minutes:
            raise SystemExit(f"the two algorithms disagree on {a} to {b}")
    (a, b), longest = max(times.items(), key=lambda item: item[1])
    print(f"\n{len(graph)} cities, {len(times):,} pairs checked; farthest apart: {a} and {b}, {longest // 60} h")


if __name__ == "__main__":
    main()
