"""``Logger``: through `logging`, as the application has configured it, and nothing by itself."""

import io
import logging
import subprocess
import sys

import pytest
from logged import context_of

from bandmaster.configs.logger import Logger

NAME = "bandmaster.some.module"


def rendered(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_a_record_reads_event_and_context_and_carries_both(caplog: pytest.LogCaptureFixture) -> None:
    Logger(NAME).warning("admitted", execution_id="a", attempt=2)
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == (
        NAME,
        "WARNING",
        "admitted execution_id=a attempt=2",
    )
    assert context_of(caplog, "admitted") == {"event": "admitted", "execution_id": "a", "attempt": 2}


def test_the_text_is_constant_so_that_records_can_be_grouped(caplog: pytest.LogCaptureFixture) -> None:
    for execution_id in "ab":
        Logger(NAME).warning("admitted", execution_id=execution_id)
    assert {record.msg for record in caplog.records} == {"admitted execution_id=%(execution_id)s"}


def test_a_record_names_the_line_that_said_it(caplog: pytest.LogCaptureFixture) -> None:
    Logger(NAME).warning("admitted")
    assert caplog.records[0].funcName == "test_a_record_names_the_line_that_said_it"


def test_context_may_have_the_names_that_records_use_themselves(caplog: pytest.LogCaptureFixture) -> None:
    Logger(NAME).warning("admitted", name="x", thread="y", args="z", message="m")
    assert rendered(caplog) == ["admitted name=x thread=y args=z message=m"]


@pytest.mark.parametrize("value", ["a\n2030-01-01 ERROR forged", "\x1b[31m", "a b=c", "", "\u202eabc", "100 %s %(x)s"])
def test_a_value_forges_neither_a_line_nor_a_colour_nor_another_value(
    caplog: pytest.LogCaptureFixture, value: str
) -> None:
    Logger(NAME).warning("refused", user_id=value)
    assert rendered(caplog) == [f"refused user_id={value!r}"]


def test_an_exception_comes_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    error = RuntimeError("one")
    Logger(NAME).error("failed", exc_info=error)
    try:
        raise ValueError("two")
    except ValueError:
        Logger(NAME).exception("failed")
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [RuntimeError, ValueError]


def test_levels_are_the_applications(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="bandmaster"):
        Logger(NAME).debug("left_out")
        Logger(NAME).info("kept")
    with caplog.at_level(logging.ERROR, logger=NAME):
        Logger(NAME).warning("left_out")
    assert rendered(caplog) == ["kept"]


def test_without_a_configuration_nothing_is_printed() -> None:
    program = (
        "import bandmaster; from bandmaster.configs.logger import Logger; from bandmaster import *\n"
        "Logger('bandmaster.x').error('failed'); Logger('bandmaster.x').exception('failed')"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("", "")


def test_the_applications_own_handler_and_format_are_used() -> None:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(name)s|%(levelname)s|%(message)s"))
    logging.getLogger("bandmaster").addHandler(handler)
    try:
        Logger(NAME).error("failed", count=3)
    finally:
        logging.getLogger("bandmaster").removeHandler(handler)
    assert stream.getvalue() == f"{NAME}|ERROR|failed count=3\n"
