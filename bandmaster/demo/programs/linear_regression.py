"""Fit a line through house prices and say how far it can be trusted.

Least squares by hand (slope, intercept, R squared, standard error), compared with the standard library's
fit; the residuals must add up to nothing.
"""

import math
import random
import statistics


def main() -> None:
    rng = random.Random(1969)
    areas = [round(rng.uniform(35, 180), 1) for _ in range(400)]
    prices = [round(40_000 + 3_150 * area + rng.gauss(0, 38_000), -2) for area in areas]

    mean_area, mean_price = statistics.fmean(areas), statistics.fmean(prices)
    variation = sum((area - mean_area) ** 2 for area in areas)
    slope = sum((a - mean_area) * (p - mean_price) for a, p in zip(areas, prices, strict=True)) / variation
    intercept = mean_price - slope * mean_area

    residuals = [price - (intercept + slope * area) for area, price in zip(areas, prices, strict=True)]
    squares = sum(residual**2 for residual in residuals)
    r_squared = 1 - squares / sum((price - mean_price) ** 2 for price in prices)
    deviation = math.sqrt(squares / (len(areas) - 2))
    margin = 1.966 * deviation / math.sqrt(variation)  # Student's t for 95 % and 398 degrees of freedom

    print(f"{len(areas)} flats; price = {intercept:,.0f} + {slope:,.0f} x square metres")
    print(f"a square metre costs {slope - margin:,.0f} to {slope + margin:,.0f} (95 % confidence)")
    print(f"R squared {r_squared:.3f}; a single price is off by {deviation:,.0f} on average\n")
    for area in (40, 70, 100, 150):
        print(f"{area:>4} m2  {intercept + slope * area:>10,.0f}")

    print("\nprice by area; o is a decile's mean, | the line, where they differ")
    by_area = sorted(zip(areas, prices, strict=True))
    for start in range(0, len(by_area), len(by_area) // 10):
        part = by_area[start : start + len(by_area) // 10]
        area, price = (statistics.fmean(column) for column in zip(*part, strict=True))
        row = [" "] * 64
        row[round((intercept + slope * area) / 10_000)] = "|"
        row[round(price / 10_000)] = "o"
        print(f"{area:>6.1f} {''.join(row).rstrip()}")

    check = statistics.linear_regression(areas, prices)
    if not (math.isclose(check.slope, slope) and math.isclose(check.intercept, intercept, rel_tol=1e-6)):
        raise SystemExit(f"the standard library's fit differs: {check}")
    if abs(sum(residuals)) > 0.01:
        raise SystemExit("the residuals do not cancel out")


if __name__ == "__main__":
    main()
