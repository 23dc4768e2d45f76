"""Faults that are planted in the code, one by one, to see whether a test finds each: ``python -m tools.mutants``.

In the flow: whoever cuts or moves tests runs it before and after, and no mutant may survive that was killed before.
`python` draws edits of Python by a seed, `lua` has a table of rules that are broken by hand. `covering` notes which
cases execute which lines, `running` tries each mutant on a copy of the tree (`trees`), `results` keeps and compares.

``baseline.jsonl`` has what the suite killed before it was cut for speed (commit a9d8451d). It is not complete: all but
one of the rules of Lua ran, each against the test files that the table names, and two of the 200 edits of Python. The
rules that survived there passed a fourth of the model's games, not all of them. It was made by::

    python -m tools.mutants cover --tree BASE
    python -m tools.mutants run --tree BASE --results build/mutants/base.jsonl
    python -m tools.mutants summary build/mutants/base.jsonl > tools/mutants/baseline.jsonl
"""
