"""Scale a picture down to a thumbnail, with area averaging.

Draws a sunset as PPM, scales it to a third and a fifth, and shows the thumbnail as text. The mean brightness
of a picture must not change with its size, and a plain area must stay plain.
"""

import math
from pathlib import Path
from statistics import fmean

WIDTH, HEIGHT = 240, 150
Picture = list[list[tuple[int, int, int]]]


def sunset() -> Picture:
    """Return a sun over the sea, with its reflection."""
    rows = []
    for y in range(HEIGHT):
        row = []
        for x in range(WIDTH):
            sky = max(0.0, 1 - math.hypot(x - WIDTH / 2, y - 80) / 140)
            glitter = y > 95 and abs(x - WIDTH / 2) < (y - 85) * (0.5 + 0.5 * math.sin(y * 1.3))
            sun = math.hypot(x - WIDTH / 2, y - 80) < 22 and y <= 95
            level = 255 if sun else 190 if glitter else int(60 + 120 * sky) if y <= 95 else int(20 + 40 * sky)
            row.append((level, level * 2 // 3, 90 if y <= 95 else 70))
        rows.append(row)
    return rows


def write_ppm(path: Path, picture: Picture) -> None:
    """Write a binary PPM file."""
    header = f"P6 {len(picture[0])} {len(picture)} 255\n".encode()
    path.write_bytes(header + bytes(value for row in picture for pixel in row for value in pixel))


def read_ppm(path: Path) -> Picture:
    """Read what ``write_ppm`` wrote."""
    header, data = path.read_bytes().split(b"\n", 1)
    width, height = (int(number) for number in header.split()[1:3])
    pixels = [(data[i], data[i + 1], data[i + 2]) for i in range(0, len(data), 3)]
    return [pixels[y * width : (y + 1) * width] for y in range(height)]


def shrink(picture: Picture, factor: int) -> Picture:
    """Return the picture with each square of ``factor`` x ``factor`` pixels averaged into one."""
    small = []
    for y in range(0, len(picture), factor):
        rows = picture[y : y + factor]
        blocks = ([pixel for row in rows for pixel in row[x : x + factor]] for x in range(0, len(rows[0]), factor))
        small.append(
            [tuple(round(sum(values) / len(block)) for values in zip(*block, strict=True)) for block in blocks]
        )
    return small


def brightness(picture: Picture) -> float:
    """Return the mean of all values."""
    return fmean(value for row in picture for pixel in row for value in pixel)


def main() -> None:
    write_ppm(Path("sunset.ppm"), sunset())
    original = read_ppm(Path("sunset.ppm"))
    for factor in (3, 5):
        small = shrink(original, factor)
        write_ppm(Path(f"sunset-{factor}.ppm"), small)
        size = Path(f"sunset-{factor}.ppm").stat().st_size
        print(f"{WIDTH} x {HEIGHT} -> {len(small[0])} x {len(small)}: {size:,} bytes, mean {brightness(small):.2f}")
        if abs(brightness(small) - brightness(original)) > 0.5:
            raise SystemExit("scaling changed the brightness")
    if shrink([[(9, 8, 7)] * 20] * 20, 5) != [[(9, 8, 7)] * 4] * 4:
        raise SystemExit("a plain area did not stay plain")
    for row in small[::2]:
        print("".join(" .:-=+*#%@"[red * 10 // 256] for red, _, _ in row).rstrip())


if __name__ == "__main__":
    main()
