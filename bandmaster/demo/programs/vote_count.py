"""Count an election by instant runoff and say who would have won otherwise.

Voters rank the candidates; the last is struck out and the votes pass on until someone has more than half. In
every round, each ballot must be counted exactly once.
"""

from collections import Counter
from itertools import combinations

CANDIDATES = {"A": "Alvarez", "B": "Bergstrom", "C": "Cohen", "D": "Dubois", "E": "Eze"}
BALLOTS = Counter({  # ranking -> number of voters; a ranking may be incomplete
    "ACBDE": 3_310, "BCDEA": 2_120, "BDCA": 790, "CBDEA": 1_905, "CADB": 640, "DCBEA": 1_480, "DBE": 420,
    "ECDBA": 870, "EDC": 365, "AE": 210, "C": 95,
})  # fmt: skip


def tally(remaining: set[str]) -> Counter[str]:
    """Return the votes for each candidate's first remaining rank; key '-' has the exhausted ballots."""
    votes = Counter(dict.fromkeys(remaining, 0))
    for ranking, voters in BALLOTS.items():
        votes[next((letter for letter in ranking if letter in remaining), "-")] += voters
    return votes


def prefers(ranking: str, one: str, other: str) -> bool:
    """Tell whether this ballot ranks ``one`` above ``other``; unranked is below all."""
    return one in ranking and (other not in ranking or ranking.index(one) < ranking.index(other))


def main() -> None:
    remaining, rounds = set(CANDIDATES), 0
    while True:
        rounds += 1
        votes = tally(remaining)
        if votes.total() != BALLOTS.total():
            raise SystemExit("a ballot was lost or counted twice")
        ranked = sorted(remaining, key=lambda letter: -votes[letter])
        print(f"round {rounds}: " + ", ".join(f"{CANDIDATES[letter]} {votes[letter]:,}" for letter in ranked))
        winner, loser = ranked[0], ranked[-1]
        if votes[winner] * 2 > votes.total() - votes["-"]:
            break
        print(f"         {CANDIDATES[loser]} is struck out")
        remaining.remove(loser)

    print(f"\n{CANDIDATES[winner]} is elected; {votes['-']:,} of {votes.total():,} ballots ran out of names")
    first = tally(set(CANDIDATES)).most_common(1)[0][0]
    duels: Counter[str] = Counter()
    for one, other in combinations(CANDIDATES, 2):
        lead = sum(n * (prefers(b, one, other) - prefers(b, other, one)) for b, n in BALLOTS.items())
        duels[one if lead > 0 else other] += 1
    unbeaten = [letter for letter, won in duels.items() if won == len(CANDIDATES) - 1]
    print(f"most first choices: {CANDIDATES[first]}")
    print(f"wins every duel: {', '.join(CANDIDATES[letter] for letter in unbeaten) or 'nobody'}")
    if duels.total() != len(CANDIDATES) * (len(CANDIDATES) - 1) // 2:
        raise SystemExit("a duel is missing")


if __name__ == "__main__":
    main()
