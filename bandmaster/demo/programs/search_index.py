"""Build a full text search index of the Python standard library and query it.

Every module's documentation string is a document; documents are ranked by TF-IDF with cosine similarity.
The answers to the questions below are known, and each must be among the first five.
"""

import math
import re
import sysconfig
from collections import Counter, defaultdict
from pathlib import Path

DOCSTRING = re.compile(r'\A(?:#[^\n]*\n|\s)*r?"""(.*?)"""', re.DOTALL)
QUESTIONS = {
    "command line parsing library": "argparse",
    "read and write csv files": "csv",
    "heap queue, smallest element": "heapq",
    "encode binary data as base64 text": "base64",
    "arithmetic with rational numbers": "fractions",
}


def words(text: str) -> list[str]:
    """Return the lower-cased words, without a plural s."""
    return [word.removesuffix("s") for word in re.findall(r"[a-z0-9]{2,}", text.lower())]


class Index:
    """An inverted index: word -> document -> weight, where each document's weights have length one."""

    def __init__(self, documents: dict[str, str]) -> None:
        counts = {name: Counter(words(text)) for name, text in documents.items()}
        frequency = Counter(word for count in counts.values() for word in count)
        self.rarity = {word: math.log(len(documents) / seen) for word, seen in frequency.items()}
        self.postings: defaultdict[str, dict[str, float]] = defaultdict(dict)
        for name, count in counts.items():
            weights = {word: (1 + math.log(n)) * self.rarity[word] for word, n in count.items()}
            length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
            for word, weight in weights.items():
                self.postings[word][name] = weight / length

    def search(self, question: str) -> list[tuple[str, float]]:
        """Return (document, score), best first."""
        scores: Counter[str] = Counter()
        for word in words(question):
            for name, weight in self.postings.get(word, {}).items():
                scores[name] += weight * self.rarity[word]
        return scores.most_common()


def main() -> None:
    documents = {}
    for path in Path(sysconfig.get_path("stdlib")).glob("*.py"):
        docstring = DOCSTRING.match(path.read_text(encoding="utf-8", errors="replace"))
        documents[path.stem] = path.stem + " " + (docstring[1] if docstring else "")
    index = Index(documents)
    print(f"{len(documents)} documents, {len(index.postings):,} words indexed\n")

    for question, answer in QUESTIONS.items():
        hits = [name for name, _ in index.search(question)[:5]]
        print(f"{question}\n    {', '.join(hits)}")
        if answer not in hits:
            raise SystemExit(f"{answer} should have been found")


if __name__ == "__main__":
    main()
