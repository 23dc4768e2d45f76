"""Simulate the inner planets for two years and check Kepler's laws.

Integrates Newton's gravity with the leapfrog method. The energy must stay constant, and the measured years
must be those that everybody knows.
"""

import math

SUN_GM = 4 * math.pi**2  # in astronomical units and years, so that the Earth's year comes out as one
PLANETS = {  # distance at perihelion, eccentricity, known length of the year in days
    "Mercury": (0.3075, 0.2056, 87.97),
    "Venus": (0.7184, 0.0068, 224.70),
    "Earth": (0.9833, 0.0167, 365.26),
    "Mars": (1.3814, 0.0934, 686.98),
}
STEP = 1 / 4_000  # years


def simulate(perihelion: float, eccentricity: float, years: float) -> tuple[float, float, float, float]:
    """Return the year in days, the nearest and farthest distance, and the largest relative error of energy."""
    x, y = perihelion, 0.0
    vx, vy = 0.0, math.sqrt(SUN_GM / perihelion * (1 + eccentricity))
    energy = (vx * vx + vy * vy) / 2 - SUN_GM / perihelion
    nearest = farthest = perihelion
    error, crossings = 0.0, []
    pull = -SUN_GM / perihelion**3
    for number in range(1, round(years / STEP) + 1):
        vx, vy = vx + pull * x * STEP / 2, vy + pull * y * STEP / 2
        last_y = y
        x, y = x + vx * STEP, y + vy * STEP
        distance = math.hypot(x, y)
        pull = -SUN_GM / distance**3
        vx, vy = vx + pull * x * STEP / 2, vy + pull * y * STEP / 2
        nearest, farthest = min(nearest, distance), max(farthest, distance)
        error = max(error, abs((vx * vx + vy * vy) / 2 - SUN_GM / distance - energy) / abs(energy))
        if last_y < 0 <= y:  # once around
            crossings.append((number - y / (y - last_y)) * STEP)
    return crossings[-1] / len(crossings) * 365.2568983, nearest, farthest, error


def main() -> None:
    print(f"{'planet':<10}{'nearest':>9}{'farthest':>10}{'year, days':>12}{'known':>9}{'energy error':>14}")
    ratios = []
    for name, (perihelion, eccentricity, known) in PLANETS.items():
        year, nearest, farthest, error = simulate(perihelion, eccentricity, years=2)
        print(f"{name:<10}{nearest:>9.4f}{farthest:>10.4f}{year:>12.2f}{known:>9.2f}{error:>14.1e}")
        ratios.append(((nearest + farthest) / 2) ** 3 / year**2 * 1e6)
        if abs(year / known - 1) > 0.001:
            raise SystemExit(f"{name}'s year should be {known} days")
        if error > 1e-3:
            raise SystemExit(f"{name}: energy is not conserved")
    print("\nKepler's third law, axis^3 / year^2: " + ", ".join(f"{ratio:.4f}" for ratio in ratios))
    if max(ratios) / min(ratios) > 1.001:
        raise SystemExit("Kepler's third law does not hold")


if __name__ == "__main__":
    main()
