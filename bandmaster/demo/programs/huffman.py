"""Compress Python source with Huffman coding, and decompress it again.

Builds the code from the text's own letters. The code must be free of prefixes, the length must lie within one
bit a letter of the entropy, and the way back must give the text.
"""

import heapq
import math
import sysconfig
from collections import Counter
from itertools import pairwise
from pathlib import Path


def build_code(text: str) -> dict[str, str]:
    """Return letter -> bits, short ones for frequent letters."""
    heap = [(count, number, {letter: ""}) for number, (letter, count) in enumerate(Counter(text).items())]
    heapq.heapify(heap)
    number = len(heap)
    while len(heap) > 1:
        count_a, _, a = heapq.heappop(heap)
        count_b, _, b = heapq.heappop(heap)
        merged = {letter: "0" + bits for letter, bits in a.items()} | {letter: "1" + bits for letter, bits in b.items()}
        heapq.heappush(heap, (count_a + count_b, number, merged))  # the number settles ties
        number += 1
    return heap[0][2]


def pack(bits: str) -> bytes:
    """Return the bits as bytes; the first byte tells how many bits of the last are padding."""
    padding = -len(bits) % 8
    bits += "0" * padding
    return bytes([padding]) + int(bits, 2).to_bytes(len(bits) // 8, "big")


def unpack(data: bytes) -> str:
    """Return the bits that ``pack`` packed."""
    bits = "".join(f"{byte:08b}" for byte in data[1:])
    return bits[: len(bits) - data[0]]


def decode(bits: str, code: dict[str, str]) -> str:
    """Return the text; each letter ends where its code is complete."""
    letters = {bits: letter for letter, bits in code.items()}
    text, start = [], 0
    for end in range(1, len(bits) + 1):
        if letter := letters.get(bits[start:end]):
            text.append(letter)
            start = end
    return "".join(text)


def main() -> None:
    text = (Path(sysconfig.get_path("stdlib")) / "heapq.py").read_text(encoding="utf-8")
    code = build_code(text)
    packed = pack("".join(code[letter] for letter in text))

    counts = Counter(text)
    entropy = sum(count / len(text) * math.log2(len(text) / count) for count in counts.values())
    mean = sum(count * len(code[letter]) for letter, count in counts.items()) / len(text)
    for letter, count in counts.most_common(6):
        print(f"{letter!r:<6}{count:>6}  {code[letter]}")
    rarest = min(counts, key=counts.get)
    print(f"{rarest!a:<6}{counts[rarest]:>6}  {code[rarest]}")
    print(f"\n{len(text.encode()):,} bytes -> {len(packed):,} ({len(packed) / len(text.encode()):.1%})")
    print(f"entropy {entropy:.3f} bits a letter, the code needs {mean:.3f}")

    words = sorted(code.values())
    if any(later.startswith(earlier) for earlier, later in pairwise(words)):
        raise SystemExit("one code is the beginning of another")
    if not entropy <= mean < entropy + 1:
        raise SystemExit("no Huffman code is that long or that short")
    if decode(unpack(packed), code) != text:
        raise SystemExit("the text did not come back")


if __name__ == "__main__":
    main()
