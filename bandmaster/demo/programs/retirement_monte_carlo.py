"""Simulate whether savings will last through retirement.

Draws yearly returns and inflation for thousands of possible lives, and reports how often the money lasts.
With the randomness turned off, the simulation must agree with the closed formula of an annuity.
"""

import math
import random
import statistics

SAVINGS = 500_000.0
YEARS = 30
RETURN_MEAN, RETURN_DEVIATION = 0.055, 0.11
INFLATION_MEAN, INFLATION_DEVIATION = 0.02, 0.01


def simulate(spending: float, rng: random.Random | None) -> list[float]:
    """Return the savings at the end of each year, in today's money, for one possible life."""
    savings, path = SAVINGS, []
    for _ in range(YEARS):
        growth, inflation = RETURN_MEAN, INFLATION_MEAN
        if rng is not None:
            growth = rng.gauss(RETURN_MEAN, RETURN_DEVIATION)
            inflation = rng.gauss(INFLATION_MEAN, INFLATION_DEVIATION)
        savings = max(0.0, (savings - spending) * (1 + growth) / (1 + inflation))
        path.append(savings)
    return path


def main() -> None:
    rate = (1 + RETURN_MEAN) / (1 + INFLATION_MEAN)
    expected = SAVINGS * rate**YEARS - 20_000 * rate * (rate**YEARS - 1) / (rate - 1)
    if not math.isclose(simulate(20_000, None)[-1], expected):
        raise SystemExit("without chance, the simulation must agree with the annuity formula")

    rng = random.Random(2050)
    print(f"{SAVINGS:,.0f} saved, {YEARS} years, 1,000 lives for each row\n")
    print(f"{'spent a year':>12}{'lasts':>9}{'median left':>14}{'worst tenth':>14}")
    lasted: dict[int, float] = {}
    for spending in range(12_000, 32_001, 4_000):
        ends = sorted(simulate(spending, rng)[-1] for _ in range(1_000))
        lasted[spending] = sum(end > 0 for end in ends) / len(ends)
        print(
            f"{spending:>12,}{lasted[spending]:>9.1%}{statistics.median(ends):>14,.0f}{ends[len(ends) // 10]:>14,.0f}"
        )
    if list(lasted.values()) != sorted(lasted.values(), reverse=True):
        raise SystemExit("spending more cannot make the money last longer")
    safe = max(spending for spending, share in lasted.items() if share >= 0.9)
    print(f"\nup to {safe:,} a year, the money lasts in at least nine lives of ten")


if __name__ == "__main__":
    main()
