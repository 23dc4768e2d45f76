"""Sieve the primes up to a million: counts, twins, gaps and Goldbach.

The counts at each power of ten are known since the nineteenth century, and must come out.
"""

import math
from itertools import pairwise

LIMIT = 1_000_000
KNOWN_COUNTS = {10: 4, 100: 25, 1_000: 168, 10_000: 1_229, 100_000: 9_592, 1_000_000: 78_498}


def sieve(limit: int) -> bytearray:
    """Return one byte a number: 1 where it is prime (Eratosthenes)."""
    prime = bytearray([1]) * (limit + 1)
    prime[0:2] = b"\0\0"
    for number in range(2, math.isqrt(limit) + 1):
        if prime[number]:
            prime[number * number :: number] = bytes(len(range(number * number, limit + 1, number)))
    return prime


def main() -> None:
    is_prime = sieve(LIMIT)
    primes = [number for number, flag in enumerate(is_prime) if flag]

    print(f"{'up to':>10}{'primes':>9}{'n / ln n':>10}{'too low by':>12}")
    for bound, known in KNOWN_COUNTS.items():
        count = is_prime.count(1, 0, bound + 1)
        estimate = bound / math.log(bound)
        print(f"{bound:>10,}{count:>9,}{estimate:>10,.0f}{1 - estimate / count:>12.1%}")
        if count != known:
            raise SystemExit(f"there are {known} primes up to {bound}, not {count}")

    gaps = [(later - earlier, earlier) for earlier, later in pairwise(primes)]
    gap, start = max(gaps)
    print(f"\nlargest: {primes[-1]:,}")
    print(f"twins: {sum(gap == 2 for gap, _ in gaps):,} pairs")
    print(f"widest gap: {gap}, after {start:,}")

    even = 999_998
    first = next(prime for prime in primes if is_prime[even - prime])
    print(f"Goldbach: {even:,} = {first} + {even - first:,}")
    if (gap, start) != (114, 492_113):
        raise SystemExit("the widest gap below a million is 114, after 492,113")


if __name__ == "__main__":
    main()
