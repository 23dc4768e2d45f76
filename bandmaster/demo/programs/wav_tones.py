"""Synthesise a melody as a WAV file and listen for the right notes.

Writes 16-bit mono sound with the standard library, reads it back and measures each note's pitch by counting
how often the wave crosses zero.
"""

import array
import math
import sys
import wave
from itertools import pairwise
from pathlib import Path

RATE = 11_025
MELODY = "E4 E4 F4 G4 G4 F4 E4 D4 C4 C4 D4 E4 E4 D4 D4".split()
SECONDS = 0.25
STEPS = {"C": -9, "D": -7, "E": -5, "F": -4, "G": -2, "A": 0, "B": 2}


def frequency(note: str) -> float:
    """Return the frequency of a note such as ``A4`` in the tempered scale, in hertz."""
    return 440 * 2 ** (STEPS[note[0]] / 12 + int(note[1]) - 4)


def tone(hertz: float) -> list[int]:
    """Return the samples of one note: a base, one overtone, a soft start and end."""
    count = round(SECONDS * RATE)
    samples = []
    for t in range(count):
        turn = 2 * math.pi * hertz * t / RATE
        loudness = min(1.0, t / 200, (count - t) / 800)
        samples.append(round(20_000 * loudness * (math.sin(turn) + 0.3 * math.sin(2 * turn)) / 1.3))
    return samples


def pitch(samples: array.array) -> float:
    """Return the pitch in hertz, from the time between the first and the last rise through zero."""
    rises = [
        t + before / (before - after) for t, (before, after) in enumerate(pairwise(samples)) if before < 0 <= after
    ]
    return (len(rises) - 1) * RATE / (rises[-1] - rises[0])


def main() -> None:
    sound = array.array("h", [sample for note in MELODY for sample in tone(frequency(note))])
    if sys.byteorder == "big":
        sound.byteswap()  # WAV files are little endian
    file = Path("ode_to_joy.wav")
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(sound.tobytes())

    with wave.open(str(file), "rb") as recording:
        heard = array.array("h", recording.readframes(recording.getnframes()))
        seconds = recording.getnframes() / recording.getframerate()
    if sys.byteorder == "big":
        heard.byteswap()
    length = round(SECONDS * RATE)
    for number, note in enumerate(MELODY):
        measured = pitch(heard[number * length : (number + 1) * length])
        print(f"{note}  {measured:>7.2f} Hz  {' ' * round((measured - 250) / 5)}o")
        if abs(measured / frequency(note) - 1) > 0.003:  # a twentieth of a semitone
            raise SystemExit(f"{note} should sound at {frequency(note):.2f} Hz")
    print(f"\n{file}: {seconds:.2f} s, {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
