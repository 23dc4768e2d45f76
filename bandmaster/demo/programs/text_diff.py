"""Compare two versions of a service agreement and prove that the patch applies.

Prints a unified diff, then reads that diff back as a patch, applies it to the old version and compares the
outcome with the new one, line by line.
"""

import difflib
import re

OLD = """\
Service agreement
1. The provider keeps the service available 99.5 % of each month.
2. Support answers within two working days.
3. Backups are taken weekly and kept for 30 days.
4. The customer pays within 30 days of the invoice.
5. Prices may change once a year, in January.
6. Either party may end the agreement with 90 days' notice.
7. The courts of Hamburg have jurisdiction.
""".splitlines()

NEW = """\
Service agreement
1. The provider keeps the service available 99.9 % of each month.
2. Support answers within one working day.
3. Backups are taken daily and kept for 30 days.
4. The customer pays within 30 days of the invoice.
5. Prices may change once a year, in January.
6. Either party may end the agreement with 90 days' notice.
6a. On ending, the customer's data is handed over within 14 days.
7. The courts of Hamburg have jurisdiction.
""".splitlines()

HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")


def apply_patch(lines: list[str], patch: list[str]) -> list[str]:
    """Return ``lines`` with a unified diff applied; every context and removed line must match."""
    patched: list[str] = []
    position = 0
    for line in patch[2:]:  # the first two name the files
        if hunk := HUNK.match(line):
            start = int(hunk[1]) - 1
            patched += lines[position:start]
            position = start
        elif line.startswith("+"):
            patched.append(line[1:])
        else:
            if lines[position] != line[1:]:
                raise SystemExit(f"the patch does not fit at line {position + 1}")
            if line.startswith(" "):
                patched.append(line[1:])
            position += 1
    return patched + lines[position:]


def main() -> None:
    patch = list(difflib.unified_diff(OLD, NEW, "agreement-2023", "agreement-2024", lineterm="", n=1))
    print("\n".join(patch))
    if apply_patch(OLD, patch) != NEW:
        raise SystemExit("the patched old version is not the new version")
    added = sum(line.startswith("+") for line in patch[2:])
    removed = sum(line.startswith("-") for line in patch[2:])
    print(f"\n{added} lines added, {removed} removed; the patch turns the old version into the new one")


if __name__ == "__main__":
    main()
