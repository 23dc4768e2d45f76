"""Measures how many items a second 8 claimers take and finish, beside pgbench, which sends the same statements.

Each item is a claim and an outcome: two transactions, each of which is on the disk when it returns. The claimers are
threads of one process, as those of one API process are: the claims that wait at the same time share a transaction,
which those of pgbench do not.
"""

from .item_ledger import item_ledger
from .item_statements import pgbench, script_of
from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

PGBENCH = "pgbench"
LEAST_WAITING = 10_000


def measure(rig: Rig, side: str) -> Measured:
    """Let all claimers take and finish as many items each."""
    each = rig.sized(5, 50, 250)
    with item_ledger() as ledger:
        ledger.fill(rig.sized(100, LEAST_WAITING, LEAST_WAITING))
        if side == PGBENCH:
            script = rig.folder / "items_claim.sql"
            script.write_text(script_of(ledger))
            return {"items": pgbench(ledger, script, each)}
        return {"items": ledger.rate(each)}


QUESTION = Question(
    name="items_claim",
    asks="How many items a second do 8 claimers take and finish, beside pgbench with the same statements?",
    sides=(PGBENCH, BANDMASTER),
    figures=(Figure("items", "1/s"),),
    measure=measure,
    targets=(Target(BANDMASTER, "items", at_least=0.55, of_side=PGBENCH),),
)
