"""Report a library's loans from an SQL database: favourites, overdue books, rank by month.

Builds an in-memory SQLite database, asks it with joins and window functions, and checks one answer against
plain Python.
"""

import random
import sqlite3
from collections import Counter
from datetime import date, timedelta

SCHEMA = """
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, genre TEXT NOT NULL);
CREATE TABLE loan (book_id INTEGER NOT NULL REFERENCES book, taken TEXT NOT NULL, returned TEXT);
CREATE INDEX loan_by_book ON loan (book_id, taken);
"""
BOOKS = [
    ("Middlemarch", "novel"), ("Dracula", "horror"), ("Emma", "novel"), ("Frankenstein", "horror"),
    ("Persuasion", "novel"), ("The Time Machine", "science fiction"), ("The Moonstone", "crime"),
    ("The War of the Worlds", "science fiction"), ("A Study in Scarlet", "crime"), ("Walden", "essay"),
]  # fmt: skip
TODAY = date(2024, 7, 1)
FAVOURITES = """
SELECT title, genre, count(*) AS loans, rank() OVER (ORDER BY count(*) DESC) AS place
FROM loan JOIN book ON book.id = book_id GROUP BY book_id ORDER BY loans DESC, title LIMIT 4
"""
OVERDUE = """
SELECT title, max(julianday(:today) - julianday(taken) - 28) AS days FROM loan JOIN book ON book.id = book_id
WHERE returned IS NULL AND days_between(taken, :today) > 28 GROUP BY title ORDER BY days DESC LIMIT 4
"""
BY_MONTH = """
SELECT month, genre, loans FROM (
    SELECT substr(taken, 1, 7) AS month, genre, count(*) AS loans,
           row_number() OVER (PARTITION BY substr(taken, 1, 7) ORDER BY count(*) DESC, genre) AS place
    FROM loan JOIN book ON book.id = book_id GROUP BY month, genre
) WHERE place = 1 ORDER BY month
"""


def make_loans(count: int) -> list[tuple[int, str, str | None]]:
    """Return (book, taken, returned) of half a year; a few books were never brought back."""
    rng = random.Random(1818)
    loans = []
    for _ in range(count):
        book = min(rng.randint(1, 10), rng.randint(1, 10))
        taken = TODAY - timedelta(days=rng.randint(1, 180))
        returned = taken + timedelta(days=rng.randint(2, 40))
        lost = returned > TODAY or rng.random() < 0.01
        loans.append((book, taken.isoformat(), None if lost else returned.isoformat()))
    return loans


def main() -> None:
    loans = make_loans(5_000)
    database = sqlite3.connect(":memory:")
    database.create_function(
        "days_between", 2, lambda start, end: (date.fromisoformat(end) - date.fromisoformat(start)).days
    )
    database.executescript(SCHEMA)
    database.executemany("INSERT INTO book (title, genre) VALUES (?, ?)", BOOKS)
    database.executemany("INSERT INTO loan VALUES (?, ?, ?)", loans)

    favourites = database.execute(FAVOURITES).fetchall()
    for title, genre, count, place in favourites:
        print(f"{place}. {title} ({genre}), {count} loans")
    print("\noverdue")
    for title, days in database.execute(OVERDUE, {"today": TODAY.isoformat()}):
        print(f"{days:>5.0f} days  {title}")
    print("\nfavourite genre")
    for month, genre, count in database.execute(BY_MONTH):
        print(f"{month}  {genre}, {count} loans")

    by_hand = Counter(BOOKS[book - 1][0] for book, _, _ in loans)
    if any(by_hand[title] != count for title, _, count, _ in favourites):
        raise SystemExit("the database and the list of loans disagree")
    database.close()


if __name__ == "__main__":
    main()
