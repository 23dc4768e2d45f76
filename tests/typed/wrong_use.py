"""What pyright and mypy --strict must find: each line that ends in `# wrong`, and no other."""

from bandmaster import MessageOptions, Priority, actor


@actor(band="HIGH", gates=["tenant:{tenant}"])
def report(tenant: str) -> int:
    return len(tenant)


@actor(band="CRITCAL")  # wrong
def misspelt_band() -> None: ...


@actor(gate=["disk"])  # wrong
def misspelt_option() -> None: ...


@actor(band="HIGH", unique={"key": "report:{tenant}", "until": "done"})  # wrong
def misspelt_end() -> None: ...


@actor(band="HIGH", max_retries="3")  # wrong
def text_for_a_number() -> None: ...


report.send(5)  # wrong
report.send_with_options(args=("acme",), unique={"until": "ended"})  # wrong
report.send_with_options(args=("acme",), band="CRITCAL")  # wrong
report.send_with_options(args=("acme",), band=7)  # wrong
report.send_with_options(args=("acme",), user="ann")  # wrong
report.send_with_options(args=("acme",), gate="disk")  # wrong
report.send_with_options(args=("acme",), schedule_at="2030-01-01T00:00:00Z")  # wrong
report.send_with_options(args=("acme",), scheduled_at=5)  # wrong
report.message_with_options(args=("acme",), prioriti=Priority.HIGH)  # wrong
options: MessageOptions = {"bandd": "HIGH"}  # wrong


async def handler() -> None:
    await report.asend(tenant=5)  # wrong
    await report.asend_with_options(args=("acme",), band="URGENT")  # wrong
    await report.asend_with_options(args=("acme",), band="HIGH")
