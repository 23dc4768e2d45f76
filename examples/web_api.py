"""A web application that sends messages: FastAPI accepts orders for reports, shows their progress, and refuses excess.

    pip install fastapi uvicorn
    dramatiq web_api                    # a worker
    uvicorn web_api:app                 # in another terminal: the application

    curl localhost:8000/tenants/acme/reports -H 'Content-Type: application/json' -d '{"month": "2026-11"}'
    curl localhost:8000/reports/ID

Sending is awaited, so a slow server delays no other request; after five seconds it raises. A refused order is not kept,
and each refusal is an HTTP response. A request that is repeated with its `Idempotency-Key` orders nothing twice.
"""

from typing import Annotated, Literal

import dramatiq
from fastapi import FastAPI, Header, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from bandmaster import (
    BandedRedisBroker,
    BandmasterError,
    DuplicateExecution,
    InvalidRequest,
    MessageOptions,
    QueueRejected,
    QueueUnavailable,
    actor,
)

# At most three reports of one tenant wait. The tenant is the message's user here.
broker = BandedRedisBroker.from_settings(lanes={"reports": {"max_queue_size": 10_000, "max_executions_per_user": 3}})
dramatiq.set_broker(broker)
app = FastAPI()


@actor(queue_name="reports", band="NORMAL", gates=["tenant:{tenant}"], limits={"tenant:*": 2})
def report(tenant: str, month: str) -> None:
    print(f"the report of {tenant} for {month}", flush=True)


class Order(BaseModel):
    month: str
    band: Literal["HIGH", "NORMAL", "LOW"] = "NORMAL"


class Accepted(BaseModel):
    execution_id: str


class Progress(BaseModel):
    state: str
    waits_because: list[str]


@app.post("/tenants/{tenant}/reports", status_code=202)
async def order(tenant: str, wanted: Order, idempotency_key: Annotated[str | None, Header()] = None) -> Accepted:
    options: MessageOptions = {"band": wanted.band, "user_id": tenant}
    if idempotency_key is not None:
        options["execution_id"] = idempotency_key
    message = await report.asend_with_options(args=(tenant, wanted.month), **options)
    return Accepted(execution_id=message.options["execution_id"])


@app.get("/reports/{execution_id}")
def progress(execution_id: str) -> Progress:  # without `async`: FastAPI runs it in a thread
    found = broker.queue.explain(execution_id)
    return Progress(state=found.state, waits_because=found.reasons)


@app.exception_handler(BandmasterError)
async def refuse(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, status_code=status_of(error))


def status_of(error: Exception) -> int:
    match error:
        case DuplicateExecution():
            return 409
        case InvalidRequest():
            return 422
        case QueueUnavailable():
            return 503
        case QueueRejected():
            return 429
        case _:
            return 404
