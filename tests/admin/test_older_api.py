"""While a newer release is rolled out, the API of the older one answers from tables that only grew."""

from dataclasses import replace
from threading import Event

from calling import V1, Api, api_on
from ledger_reading import Reading

from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.revisions import newest


def test_an_older_api_answers_while_the_tables_let_it(api: Api) -> None:
    api.queue.enqueue({"execution_id": "a", "command": ["true"]})
    api.catch_up()
    token = api.token("ann", "read")
    tables = Reading(api.database)
    tables.change("UPDATE alembic_version SET version_num = '9999'")
    for compatible_from, told in ((newest(), (200, None)), ("9998", (503, "ledger_unavailable"))):
        tables.change(f"UPDATE compatibility SET compatible_from = '{compatible_from}'")
        asking = Asking(api.database, queue="exec_queue")
        with (
            api_on(replace(api.services, ledger=asking, closing=Event())) as url,
            replace(api, url=url).client(token) as client,
        ):
            answer = client.get(f"{V1}/executions/")
        assert (answer.status_code, answer.json().get("code")) == told, answer.text
