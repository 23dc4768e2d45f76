"""The client of the admin API: `Client`, `AsyncClient`, and the calls that both send (extra `client`).

::

    from bandmaster.client import Client, calls

    with Client("https://bandmaster.example", token) as client:
        accepted = client.submit(command=["make", "all"], priority="HIGH")
        print(client.send(calls.show(accepted.execution_id)).state)
"""

from bandmaster.admin.client import calls
from bandmaster.admin.client.awaiting import AsyncClient
from bandmaster.admin.client.blocking import Client
from bandmaster.admin.client.errors import ApiError, ApiProblem, ApiUnavailable

__all__ = ["ApiError", "ApiProblem", "ApiUnavailable", "AsyncClient", "Client", "calls"]
