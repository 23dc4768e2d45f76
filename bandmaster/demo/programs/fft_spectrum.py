"""Find the notes of a chord in noisy sound with a fast Fourier transform.

Computes the transform by halving (Cooley and Tukey), then undoes it: the way back must give the sound again,
and the strongest frequencies must be the notes that were played.
"""

import cmath
import math
import random

RATE = 8_192  # samples a second, so that one second gives one bin a hertz
NOTES = {"A3": 220.00, "C#4": 277.18, "E4": 329.63, "A4": 440.00}
NAMES = ["C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B"]


def fft(values: list[complex], sign: int = -1) -> list[complex]:
    """Return the discrete Fourier transform; with ``sign=1`` the inverse, not yet divided by the length."""
    size = len(values)
    if size == 1:
        return values
    even, odd = fft(values[0::2], sign), fft(values[1::2], sign)
    turned = [cmath.exp(sign * 2j * math.pi * k / size) * value for k, value in enumerate(odd)]
    pairs = list(zip(even, turned, strict=True))
    return [a + b for a, b in pairs] + [a - b for a, b in pairs]


def name_of(frequency: float) -> str:
    """Return the name of the nearest note of the tempered scale, such as ``A4``."""
    number = round(69 + 12 * math.log2(frequency / 440))
    return f"{NAMES[number % 12]}{number // 12 - 1}"


def main() -> None:
    rng = random.Random(440)
    sound = [
        complex(sum(math.sin(2 * math.pi * hertz * t / RATE) for hertz in NOTES.values()) + rng.gauss(0, 1.5))
        for t in range(RATE)
    ]
    spectrum = fft(sound)

    back = [value / RATE for value in fft(spectrum, sign=1)]
    error = max(abs(a - b) for a, b in zip(sound, back, strict=True))
    if error > 1e-9:
        raise SystemExit(f"the way back is off by {error}")

    power = [abs(value) / RATE * 2 for value in spectrum[: RATE // 2]]
    peaks = [
        hertz for hertz in range(20, 2_000) if power[hertz] > 0.4 and power[hertz] == max(power[hertz - 5 : hertz + 6])
    ]
    print(f"{RATE:,} samples; transform and back differ by at most {error:.0e}\n")
    for hertz in peaks:
        print(f"{hertz:>5} Hz  {name_of(hertz):<4}{'#' * round(power[hertz] * 40)}")
    noise = sum(power) / len(power)
    print(f"\nnoise: {noise:.3f} on average, {max(power) / noise:.0f} times weaker than the strongest note")
    if [name_of(hertz) for hertz in peaks] != list(NOTES):
        raise SystemExit(f"played {list(NOTES)}")


if __name__ == "__main__":
    main()
