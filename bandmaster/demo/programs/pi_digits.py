"""Compute two thousand digits of pi, in two ways that must agree.

Machin's formula of 1706 and the Chudnovsky brothers' series of 1988, both in whole numbers.
"""

import math
import time
from collections import Counter

DIGITS = 2_000
GUARD = 10  # extra digits, which take up the rounding


def arctan_inverse(x: int, one: int) -> int:
    """Return arctan(1 / x), scaled by ``one``."""
    term = one // x
    total, divisor, sign = term, 1, 1
    while term:
        term //= x * x
        divisor += 2
        sign = -sign
        total += sign * (term // divisor)
    return total


def machin(digits: int) -> int:
    """Return pi with ``digits`` decimals, as a whole number: 16 arctan(1/5) - 4 arctan(1/239)."""
    one = 10 ** (digits + GUARD)
    return (16 * arctan_inverse(5, one) - 4 * arctan_inverse(239, one)) // 10**GUARD


def chudnovsky(digits: int) -> int:
    """Return the same; each term of this series gives fourteen digits."""
    one = 10 ** (digits + GUARD)
    total, linear, term, k = 0, 13_591_409, one, 0
    while term:
        total += term * linear
        k += 1
        linear += 545_140_134
        term = term * -((6 * k - 5) * (2 * k - 1) * (6 * k - 1)) // (k**3 * 10_939_058_860_032_000)
        if term == -1:  # floor division of a negative number never gets to zero
            break
    return 426_880 * math.isqrt(10_005 * one * one) * one // total // 10**GUARD


def main() -> None:
    results = {}
    for method in (machin, chudnovsky):
        started = time.perf_counter()
        results[method.__name__] = method(DIGITS)
        print(f"{method.__name__:<11}{(time.perf_counter() - started) * 1000:>7.1f} ms")
    if results["machin"] != results["chudnovsky"]:
        raise SystemExit("the two formulas disagree")
    if results["machin"] // 10 ** (DIGITS - 15) != 3_141592653589793:
        raise SystemExit("this is not pi")

    digits = str(results["machin"])
    print(f"\n3.{digits[1:61]}")
    for start in range(61, 301, 60):
        print(f"  {digits[start : start + 60]}")
    print(f"  ... {digits[-50:]}\n")
    counts = Counter(digits[1:])
    print("how often each digit occurs: " + ", ".join(f"{digit}: {counts[digit]}" for digit in sorted(counts)))


if __name__ == "__main__":
    main()
