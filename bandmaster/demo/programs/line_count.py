"""Count code, comment, docstring and blank lines in Python's own packages.

Every line is put into exactly one class by the tokenizer; the classes must add up to the file's length.
"""

import io
import sysconfig
import tokenize
from collections import Counter
from pathlib import Path

PACKAGES = ["json", "html", "http", "logging", "wsgiref", "tomllib"]
SILENT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def classify(source: str) -> Counter[str]:
    """Return how many lines of a Python source are of each class."""
    kinds: dict[int, str] = {}
    at_start_of_statement = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = token.start[0], token.end[0]
        if token.type in SILENT:
            at_start_of_statement |= token.type != tokenize.NL
        elif token.type == tokenize.COMMENT:
            kinds.setdefault(first, "comment")
        elif token.type == tokenize.STRING and at_start_of_statement:
            kinds.update(dict.fromkeys(range(first, last + 1), "docstring"))
            at_start_of_statement = False
        else:
            kinds.update(dict.fromkeys(range(first, last + 1), "code"))
            at_start_of_statement = False
    lines = len(source.splitlines())
    return Counter(kinds.get(number, "blank") for number in range(1, lines + 1))


def main() -> None:
    stdlib = Path(sysconfig.get_path("stdlib"))
    total: Counter[str] = Counter()
    print(f"{'package':<10}{'files':>7}{'code':>8}{'comment':>9}{'docstring':>11}{'blank':>7}")
    for package in PACKAGES:
        counts: Counter[str] = Counter()
        lines = 0
        for path in (stdlib / package).glob("*.py"):
            source = path.read_text(encoding="utf-8")
            counts += classify(source)
            counts["files"] += 1
            lines += len(source.splitlines())
        row = [counts[kind] for kind in ("files", "code", "comment", "docstring", "blank")]
        print("{:<10}{:>7,}{:>8,}{:>9,}{:>11,}{:>7,}".format(package, *row))
        if sum(row[1:]) != lines:
            raise SystemExit(f"{package}: the classes add up to {sum(row[1:])}, not {lines} lines")
        total += counts
    if not total["code"]:
        raise SystemExit("no source found")
    print(f"\n{total['docstring'] / total['code']:.2f} lines of docstring to a line of code")


if __name__ == "__main__":
    main()
