"""Compare compression methods on real source text, with a round trip for each.

Which of them exist depends on how this Python was built; those that are missing are left out.
"""

import importlib
import sysconfig
import time
from pathlib import Path

METHODS = [
    ("zlib", "fast", {"level": 1}),
    ("zlib", "default", {"level": 6}),
    ("zlib", "best", {"level": 9}),
    ("bz2", "best", {"compresslevel": 9}),
    ("lzma", "fast", {"preset": 0}),
]


def main() -> None:
    package = Path(sysconfig.get_path("stdlib")) / "email"
    text = b"".join(path.read_bytes() for path in sorted(package.glob("*.py")))[:400_000]
    if not text:
        raise SystemExit("no source found")
    print(f"{len(text):,} bytes of Python source\n")
    print(f"{'method':<14}{'bytes':>9}{'of original':>13}{'milliseconds':>14}")

    sizes = {}
    for name, label, options in METHODS:
        try:
            method = importlib.import_module(name)
        except ImportError:
            continue
        started = time.perf_counter()
        packed = method.compress(text, **options)
        elapsed_ms = (time.perf_counter() - started) * 1000
        if method.decompress(packed) != text:
            raise SystemExit(f"{name} did not give back what it was given")
        sizes[name, label] = len(packed)
        print(f"{name + ' ' + label:<14}{len(packed):>9,}{len(packed) / len(text):>13.1%}{elapsed_ms:>14.1f}")

    if not sizes["zlib", "best"] <= sizes["zlib", "default"] < sizes["zlib", "fast"] < len(text):
        raise SystemExit("more effort should not give more bytes")
    print(f"\nsmallest: {' '.join(min(sizes, key=sizes.get))}; every method gave the text back unchanged")


if __name__ == "__main__":
    main()
