"""Measures how many items a second 8 claimers take and finish, beside pgbench, which sends the same statements.

Each item is a claim and an outcome: two transactions, each of which is on the disk when it returns. The claimers are
threads of one process; as those of pgbench, each claim is a transaction of its own, which an API process would share
among all that wait. Both take turns at the same table, so that whatever disturbs the machine disturbs both.
"""

from .item_ledger import CLAIMERS, ROUNDS, item_ledger, rates_in_turns
from .item_statements import pgbench, script_of
from .question import Figure, Measured, Question, Target
from .rig import Rig

POSTGRESQL = "PostgreSQL, durable"
PGBENCH, OURS = "pgbench", "Bandmaster"
LEAST_WAITING = 10_000


def measure(rig: Rig, side: str) -> Measured:
    """Let all claimers take and finish as many items each, round after round."""
    each = rig.sized(5, 25, 100)
    with item_ledger() as ledger:
        ledger.fill(LEAST_WAITING + 2 * ROUNDS * CLAIMERS * (each + 1))
        script = rig.folder / "items_claim.sql"
        script.write_text(script_of(ledger))
        return rates_in_turns({PGBENCH: lambda count: pgbench(ledger, script, count), OURS: ledger.rate}, each)


QUESTION = Question(
    name="items_claim",
    asks="How many items a second do 8 claimers take and finish, beside pgbench with the same statements?",
    sides=(POSTGRESQL,),
    figures=(Figure(PGBENCH, "1/s"), Figure(OURS, "1/s")),
    measure=measure,
    targets=(Target(POSTGRESQL, OURS, at_least=0.55, of_side=POSTGRESQL, of_figure=PGBENCH),),
)
