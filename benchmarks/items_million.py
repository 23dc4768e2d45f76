"""Measures whether claims and outcomes take longer with 1,000,000 items that wait than with 10,000.

Before each measurement the database is asked for the plans of all statements: one that walks along the table, or sorts
for the next item, fails the question.
"""

from .item_ledger import item_ledger
from .item_statements import check_plans
from .question import Figure, Measured, Question, Target
from .rig import Rig

FEW = "10,000 items wait"
MANY = "1,000,000 items wait"


def measure(rig: Rig, side: str) -> Measured:
    """Let 8 claimers take and finish as many items each."""
    count = rig.sized(2_000, 10_000, 10_000) if side == FEW else rig.sized(4_000, 100_000, 1_000_000)
    with item_ledger() as ledger:
        ledger.fill(count)
        check_plans(ledger)
        return {"items": ledger.rate(rig.sized(5, 50, 250))}


QUESTION = Question(
    name="items_million",
    asks="How many items a second do 8 claimers take and finish, however many wait?",
    sides=(FEW, MANY),
    figures=(Figure("items", "1/s"),),
    measure=measure,
    targets=(Target(MANY, "items", at_least=0.8, of_side=FEW),),
)
