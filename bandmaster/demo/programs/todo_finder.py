"""List the TODO, FIXME and XXX remarks in the source of Python's own packages.

Uses the tokenizer, so that only comments count, not strings that merely contain the word. A program with a
known number of remarks is scanned first, to prove the scanner.
"""

import io
import re
import sysconfig
import tokenize
from collections import Counter
from pathlib import Path

REMARK = re.compile(r"\b(TODO|FIXME|XXX)\b[:\s]*(.*)")
PACKAGES = ["http", "json", "logging", "wsgiref", "importlib", "xmlrpc"]
PROOF = '''
x = "TODO: not a remark"  # TODO: a remark
"""FIXME: nor this"""
y = 1  # FIXME a second, XXX on the same line is the same remark
'''


def remarks(source: str) -> list[tuple[int, str, str]]:
    """Return (line number, kind, text) of each remark in a Python source."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and (remark := REMARK.search(token.string)):
            found.append((token.start[0], remark[1], remark[2]))
    return found


def main() -> None:
    if [(line, kind) for line, kind, _ in remarks(PROOF)] != [(2, "TODO"), (4, "FIXME")]:
        raise SystemExit("the scanner miscounts")

    stdlib = Path(sysconfig.get_path("stdlib"))
    kinds: Counter[str] = Counter()
    files = 0
    examples = []
    for path in sorted(file for package in PACKAGES for file in (stdlib / package).glob("*.py")):
        files += 1
        for line, kind, text in remarks(path.read_text(encoding="utf-8")):
            kinds[kind] += 1
            examples.append(f"{path.relative_to(stdlib)}:{line}  {kind} {text}".rstrip())
    if not files:
        raise SystemExit("no source found")

    print(f"{files} files, {kinds.total()} remarks: {dict(kinds)}\n")
    for example in examples[:14]:
        print(example if len(example) <= 100 else example[:97] + "...")


if __name__ == "__main__":
    main()
