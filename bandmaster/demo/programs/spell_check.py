"""Suggest corrections for the misspelt words of a customer's message.

Compares each unknown word with a small dictionary by Damerau-Levenshtein distance: the number of letters to
insert, delete, replace or swap.
"""

import re

DICTIONARY = set(
    """a about account address again already and any appreciate arrived as at be because been before beginning
    believe business calendar colleague committee could customer definitely delivered dear delivery did different do
    embarrassing environment experience foreign friend from government had has have i if immediately in is it
    kind know my necessary not occasion occurred of on order our package paid please possible privilege receive received recommend refund regards
    reply separate separately since sincerely so strange successful surprise team that the then this to tomorrow two
    until usually was we week weeks weird what which with would you your""".split()
)
MESSAGE = """Dear team, I beleive my order has not been delivered. I paid two weeks ago and definately did not recieve
the package. It was to be sent seperately, wich is strange. I would apreciate a refund immediatly, if posible befroe
tommorow. Kind regards"""
EXPECTED = {
    "beleive": "believe", "definately": "definitely", "recieve": "receive", "seperately": "separately",
    "wich": "which", "apreciate": "appreciate", "immediatly": "immediately", "posible": "possible",
    "befroe": "before", "tommorow": "tomorrow",
}  # fmt: skip
NAMES_AND_SLANG = {"ago", "sent"}


def distance(a: str, b: str) -> int:
    """Return the fewest single-letter edits and swaps of neighbours that turn ``a`` into ``b``."""
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, letter in enumerate(a, start=1):
        current = [i]
        for j, other in enumerate(b, start=1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == b[j - 2] and a[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return previous[-1]


def main() -> None:
    words = re.findall(r"[a-z]+", MESSAGE.lower())
    unknown = [word for word in dict.fromkeys(words) if word not in DICTIONARY | NAMES_AND_SLANG]
    suggestions = {word: min(sorted(DICTIONARY), key=lambda known: distance(word, known)) for word in unknown}

    print(f"{len(words)} words, {len(unknown)} not in the dictionary; with the number of edits\n")
    for word, suggestion in suggestions.items():
        print(f"{word:<12} -> {suggestion:<12} {distance(word, suggestion)}")
    if suggestions != EXPECTED:
        raise SystemExit(f"unexpected: {set(suggestions.items()) ^ set(EXPECTED.items())}")


if __name__ == "__main__":
    main()
