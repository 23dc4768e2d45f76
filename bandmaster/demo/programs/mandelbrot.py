"""Render the Mandelbrot set as text and as a PPM picture.

The picture is written in the plain binary PPM format that every image viewer reads, then read back. The set
is symmetric about the real axis, and so must the picture be.
"""

from pathlib import Path

WIDTH, HEIGHT = 135, 81
LIMIT = 60
SHADES = " .:-=+*%@#"


def escape_time(c: complex) -> int:
    """Return after how many steps z -> z * z + c leaves the circle of radius two, at most LIMIT."""
    z = 0j
    for step in range(LIMIT):
        if abs(z) > 2:
            return step
        z = z * z + c
    return LIMIT


def colour(steps: int) -> bytes:
    """Return red, green and blue: black inside, blue to white outside."""
    if steps == LIMIT:
        return bytes((0, 0, 0))
    bright = int(255 * (steps / LIMIT) ** 0.4)
    return bytes((bright // 2, bright * 3 // 4, bright))


def main() -> None:
    rows = []
    for y in range(HEIGHT):
        imaginary = (y - HEIGHT // 2) / (HEIGHT // 2) * 1.2
        rows.append([escape_time(complex(x / (WIDTH - 1) * 3.2 - 2.3, imaginary)) for x in range(WIDTH)])

    for row in rows[::5]:
        print("".join(SHADES[min(9, steps * 10 // LIMIT)] for steps in row[::2]).rstrip())

    picture = Path("mandelbrot.ppm")
    header = f"P6 {WIDTH} {HEIGHT} 255\n".encode()
    picture.write_bytes(header + b"".join(colour(steps) for row in rows for steps in row))

    pixels = picture.read_bytes().removeprefix(header)
    lines = [pixels[start : start + 3 * WIDTH] for start in range(0, len(pixels), 3 * WIDTH)]
    if len(lines) != HEIGHT or lines != lines[::-1]:
        raise SystemExit("the picture is not symmetric")
    if escape_time(0j) != LIMIT or escape_time(1 + 1j) > 3:
        raise SystemExit("a point whose fate is known came out wrong")
    print(f"{picture}: {WIDTH} x {HEIGHT} pixels, {sum(row.count(LIMIT) for row in rows):,} of them inside the set")


if __name__ == "__main__":
    main()
