"""Break a Vigenere cipher without knowing the key.

Finds the key's length by the index of coincidence and each of its letters by comparing frequencies with
English. What comes out must be the text that was enciphered.
"""

import sysconfig
from collections import Counter
from pathlib import Path

KEY = "BANDMASTER"
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PERCENT = [8.2, 1.5, 2.8, 4.3, 12.7, 2.2, 2.0, 6.1, 7.0, 0.15, 0.77, 4.0, 2.4]  # A to M in English
PERCENT += [6.7, 7.5, 1.9, 0.095, 6.0, 6.3, 9.1, 2.8, 0.98, 2.4, 0.15, 2.0, 0.074]


def shift(text: str, key: str, sign: int) -> str:
    """Encipher with ``sign=1``, decipher with -1."""
    shifts = [ALPHABET.index(letter) * sign for letter in key]
    return "".join(ALPHABET[(ord(c) - 65 + shifts[i % len(key)]) % 26] for i, c in enumerate(text))


def coincidence(text: str) -> float:
    """Return how likely two letters of the text are the same: 0.038 in noise, 0.067 in English."""
    counts = Counter(text).values()
    return sum(count * (count - 1) for count in counts) / (len(text) * (len(text) - 1))


def key_length(cipher: str) -> int:
    """Return the shortest length at which every n-th letter looks like English."""
    means = {n: sum(coincidence(cipher[i::n]) for i in range(n)) / n for n in range(1, 21)}
    return min(n for n, mean in means.items() if mean > 0.93 * max(means.values()))


def caesar_key(column: str) -> str:
    """Return the letter by which the column was shifted: the best fit to English (chi squared)."""

    def misfit(key: str) -> float:
        counts = Counter(shift(column, key, -1))
        expected = [percent * len(column) / 100 for percent in PERCENT]
        return sum((counts[letter] - want) ** 2 / want for letter, want in zip(ALPHABET, expected, strict=True))

    return min(ALPHABET, key=misfit)


def main() -> None:
    prose = (Path(sysconfig.get_path("stdlib")) / "heapq.py").read_text(encoding="utf-8").split('__about__ = """')[1]
    plain = "".join(letter for letter in prose[:4_000].upper() if letter in ALPHABET)
    cipher = shift(plain, KEY, 1)
    print(f"{len(cipher):,} letters: {cipher[:50]}...")
    print(f"coincidence {coincidence(cipher):.4f}; it was {coincidence(plain):.4f} in the plain text\n")

    length = key_length(cipher)
    key = "".join(caesar_key(cipher[start::length]) for start in range(length))
    broken = shift(cipher, key, -1)
    print(f"key of {length} letters: {key}")
    print(f"{broken[:70]}...")
    if broken != plain:
        raise SystemExit("the cipher was not broken")


if __name__ == "__main__":
    main()
