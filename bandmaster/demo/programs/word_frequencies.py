"""Count the words that Python's own documentation strings use most.

Reads the docstrings at the top of the standard library's modules and counts words without the commonest
English ones. The counts are made twice, in different ways, and must agree.
"""

import re
import sysconfig
from collections import Counter
from pathlib import Path

DOCSTRING = re.compile(r'\A(?:#[^\n]*\n|\s)*r?"""(.*?)"""', re.DOTALL)
WORD = re.compile(r"[a-z]{3,}")
STOP_WORDS = set(
    "the and for this that with are not from can which will its use used has all but any you may was been have "
    "when one other only into such than also see then each these more some they there their does should".split()
)


def main() -> None:
    texts = []
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        docstring = DOCSTRING.match(path.read_text(encoding="utf-8", errors="replace"))
        if docstring:
            texts.append(docstring[1].lower())

    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(word for word in WORD.findall(text) if word not in STOP_WORDS)
    total = counts.total()

    everything = " ".join(texts)
    words_again = sorted(word for word in WORD.findall(everything) if word not in STOP_WORDS)
    if total != len(words_again) or list(counts.keys() - set(words_again)):
        raise SystemExit("the two ways of counting disagree")

    print(f"{len(texts)} modules, {total:,} words, {len(counts):,} different\n")
    widest = counts.most_common(1)[0][1]
    for word, count in counts.most_common(15):
        print(f"{word:<12} {count:>4}  {'#' * round(40 * count / widest)}")
    once = sum(1 for count in counts.values() if count == 1)
    print(f"\n{once / len(counts):.0%} of the words occur only once")


if __name__ == "__main__":
    main()
