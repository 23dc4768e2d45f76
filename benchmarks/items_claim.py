"""Measures how many items a second 8 claimers take and finish, beside pgbench, which sends the same statements.

Each item is a claim and an outcome: two transactions, each of which is on the disk when it returns. The claimers are
threads of one process, as those of one API process are: the claims that wait at the same time share a transaction,
which those of pgbench do not. Both take turns at the same table, so that whatever disturbs the machine disturbs both.
"""

from .item_ledger import CLAIMERS, item_ledger
from .item_statements import pgbench, script_of
from .question import Figure, Measured, Question, Target
from .rig import Rig

POSTGRESQL = "PostgreSQL, durable"
PGBENCH, OURS = "pgbench", "Bandmaster"
ROUNDS = 6
LEAST_WAITING = 10_000


def measure(rig: Rig, side: str) -> Measured:
    """Let all claimers take and finish as many items each, round after round."""
    each = rig.sized(5, 25, 100)
    seconds = {PGBENCH: 0.0, OURS: 0.0}
    with item_ledger() as ledger:
        ledger.fill(LEAST_WAITING + 2 * ROUNDS * CLAIMERS * (each + 1))
        script = rig.folder / "items_claim.sql"
        script.write_text(script_of(ledger))
        for number in range(ROUNDS):
            for name in (PGBENCH, OURS) if number % 2 == 0 else (OURS, PGBENCH):
                rate = pgbench(ledger, script, each) if name == PGBENCH else ledger.rate(each)
                seconds[name] += CLAIMERS * each / rate
    return {name: ROUNDS * CLAIMERS * each / took for name, took in seconds.items()}


QUESTION = Question(
    name="items_claim",
    asks="How many items a second do 8 claimers take and finish, beside pgbench with the same statements?",
    sides=(POSTGRESQL,),
    figures=(Figure(PGBENCH, "1/s"), Figure(OURS, "1/s")),
    measure=measure,
    targets=(Target(POSTGRESQL, OURS, at_least=0.55, of_side=POSTGRESQL, of_figure=PGBENCH),),
)
