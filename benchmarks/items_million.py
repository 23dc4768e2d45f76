"""Measures whether claims and outcomes take longer with 1,000,000 items that wait than with 10,000.

Both queues take turns, so that whatever disturbs the machine disturbs both. Before they do, the database is asked for
the plans of all statements: one that walks along the table, or sorts for the next item, fails the question.
"""

from .item_ledger import item_ledger, rates_in_turns
from .item_statements import check_plans
from .items_claim import POSTGRESQL
from .question import Figure, Measured, Question, Target
from .rig import Rig

FEW = "10,000 wait"
MANY = "1,000,000 wait"


def measure(rig: Rig, side: str) -> Measured:
    """Let 8 claimers take and finish as many items each of both, round after round."""
    with item_ledger() as few, item_ledger() as many:
        few.fill(rig.sized(2_000, 10_000, 10_000))
        many.fill(rig.sized(4_000, 100_000, 1_000_000))
        ledgers = {FEW: few, MANY: many}
        for ledger in ledgers.values():
            check_plans(ledger)
        return rates_in_turns({name: ledger.rate for name, ledger in ledgers.items()}, rig.sized(5, 25, 100))


QUESTION = Question(
    name="items_million",
    asks="How many items a second do 8 claimers take and finish, however many wait?",
    sides=(POSTGRESQL,),
    figures=(Figure(FEW, "1/s"), Figure(MANY, "1/s")),
    measure=measure,
    targets=(Target(POSTGRESQL, MANY, at_least=0.8, of_side=POSTGRESQL, of_figure=FEW),),
)
