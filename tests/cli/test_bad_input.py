"""Bad input of every kind: one line on standard error, the documented exit code, nothing left in Redis."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from cli.driving import Answer, Driver

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Case:
    """A command line that is refused."""

    line: str
    message: str
    code: int = 2
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def arguments(self) -> list[str]:
        """The words of the line; ~ stands for a blank within one, EMPTY for none."""
        return [word.replace("~", " ").replace("EMPTY", "") for word in self.line.split()]


CASES = {
    "nothing to send": Case("submit", "nothing to send: name script files"),
    "an empty command": Case("submit --", "bandmaster: the command behind --: command: names no program"),
    "a command without a name": Case("submit -- EMPTY", "bandmaster: '': command: names no program"),
    "an unknown priority": Case("submit -p urgent good.py", "'urgent' is not a priority; allowed: CRITICAL, HIGH"),
    "a missing file": Case("submit good.py gone.py", "'gone.py' cannot be read: No such file or directory"),
    "a folder": Case("submit .", "'.' cannot be read: Is a directory"),
    "script and command": Case("submit good.py -- true", "both a script ('good.py') and a command are given"),
    "a blank script": Case("submit blank.py", "blank.py: script: is blank"),
    "a script with NUL": Case("submit nul.py", "nul.py: script: contains a NUL character"),
    "no UTF-8": Case("submit good.py latin.py", "'latin.py' is not UTF-8 text (byte 7)"),
    "too large": Case("submit large.py", "'large.py' is longer than 1048576 bytes"),
    "too large as JSON": Case("submit quotes.py", "quotes.py: event: its JSON is"),
    "standard input is blank": Case("submit -", "standard input: script: is blank", stdin=b" \n"),
    "a bad id": Case("submit --id a~b good.py", "good.py: execution_id: 'a b' is not an execution id"),
    "one id for two": Case("submit --id x good.py blank.py", "--id names one execution"),
    "a bad user": Case("submit --user \x1b[31m good.py", r"metadata.user_id: '\x1b[31m' is not a user's id"),
    "a bad action": Case("submit --action a/b good.py", "action: 'a/b' is not an action"),
    "a bad gate": Case("submit --gate \x1b[31m good.py", r"'\x1b[31m' is not a gate's key"),
    "no timeout": Case("submit --timeout 0 good.py", "timeout_seconds: 0 is refused"),
    "a bad timeout": Case("submit --timeout soon good.py", "--timeout: 'soon' is not a duration"),
    "a bad time": Case("submit --at tomorrow good.py", "--at: 'tomorrow' is not a time"),
    "a time too late": Case(
        "submit --at 2300-01-01 good.py", "scheduled_at: 2300-01-01T00:00:00+00:00 is out of range"
    ),
    "a bad quantity": Case("submit --memory lots good.py", "memory_limit: 'lots' is not a quantity above zero"),
    "a fraction of a byte": Case("submit --memory 128m good.py", "'128m' is no memory quantity"),
    "a bad runtime": Case("submit --runtime cobol good.py", "runtime 'cobol' is unknown; allowed are: python"),
    "a bad image": Case("submit --image a~b good.py", "image: 'a b' is not an image"),
    "a label without value": Case("submit --label x good.py", "--label: 'x' has no '='"),
    "an unknown option": Case("submit --speed 9 good.py", "no such option: --speed"),
    "an unknown command": Case(
        "sumbit good.py", "no such command 'sumbit'. Did you mean 'submit'? See `bandmaster --help`."
    ),
    "too few lines": Case("list -n 0", "greater than or equal to 1. See `bandmaster list --help`."),
    "a missing Procfile": Case("up --procfile gone", "gone cannot be read: No such file or directory\n"),
    "no id": Case("show", "missing argument 'ID'"),
    "no id that could be": Case("show a/b", "execution_id: 'a/b' is not an execution id"),
    "an unknown id": Case("show nobody", "no execution 'nobody' is known", code=3),
    "logs of an unknown id": Case("logs nobody", "no execution 'nobody' is known", code=3),
    "priority of an unknown id": Case("priority nobody high", "no execution 'nobody' is known", code=3),
    "priority that is none": Case("priority nobody 7", "7 is not a priority"),
    "raw JSON": Case("logs --raw --json nobody", "--raw and --json exclude each other"),
    "no dead letter": Case("dead retry nobody", "no dead letter 'nobody' is known", code=3),
    "a state that is none": Case("list --state asleep", "--state: 'asleep' is not a state; allowed: running"),
    "a negative limit": Case(
        "limit action:x -- -1", "limit: '-1' is not a whole number; allowed: 0 or more, auto(LEAST,MOST), or none"
    ),
    "a negative limit without dashes": Case(
        "limit action:x -10",
        "bandmaster: -10 is not allowed: numbers are 0 or more, and none where there is no bound. See",
    ),
    "a negative setting": Case("setting max_queue_size -1 --json", "bandmaster: -1 is not allowed: numbers are 0 or"),
    "a rate that is none": Case(
        "rate tenant:a fast",
        "rate: 'fast' is not a rate; allowed: N/TIME like 100/m, 5/s or 1/10s (units ms, s, m, h, d), "
        "with ` burst N` behind it if some may come at once; or none",
    ),
    "a rate of nothing": Case("rate tenant:a 0/s", "rate: '0/s' is not a rate; allowed: 1 to 1000000 in 1 ms to 366 d"),
    "a rate in no time": Case("rate tenant:a 1/0s", "rate: '1/0s' is not a rate; allowed: 1 to 1000000 in 1 ms"),
    "a rate of a part of a kind": Case(
        "rate tenant:a* 1/s",
        "'tenant:a*' is not a gate's key; allowed: no *, { or }; only a limit or a rate may be of a kind",
    ),
    "a rate of everything": Case("rate * 5/s", "gate: '*' is no gate; allowed: the setting max_concurrent limits"),
    "a rate of a setting": Case("rate max_queue_size 3/s", "max_queue_size is not a gate but a setting"),
    "a setting as a gate": Case("limit max_queue_size 3", "max_queue_size is not a gate but a setting"),
    "an unknown setting": Case(
        "setting speed 9", "setting: 'speed' is not a setting; allowed: ageing_seconds, dead_message_ttl"
    ),
    "a setting that is no number": Case("setting max_queue_size many", "'many' is not a whole number"),
    "a bound that is no number": Case(
        "setting max_queue_size many", "allowed: a whole number, 1 to 10000000000, or default\n"
    ),
    "a setting without a value": Case(
        "setting meta_ttl_seconds none",
        "meta_ttl_seconds: it cannot be none: it always has a value; allowed: a whole number, 1 to 10000000000, or "
        "default\n",
    ),
    "a lane that has no bound": Case(
        "setting max_queue_size none --lane executions",
        "max_queue_size: it cannot be none: lane executions always has this bound; allowed: a whole number, 1 to",
    ),
    "an unknown setting without a value": Case("setting speed none", "setting: 'speed' is not a setting; allowed:"),
    "a setting out of range": Case("setting meta_ttl_seconds 0", "0 is not a setting's value"),
    "pausing what is none": Case("pause lane:9", "lane: '9' is not a lane's name"),
    "an unknown variable": Case(
        "status", "environment variable BANDMASTER_REDIS__URLL", environment={"BANDMASTER_REDIS__URLL": "x"}
    ),
    "a server that is away": Case(
        "status",
        "(server redis://:***@localhost:1/0)",
        code=4,
        environment={"BANDMASTER_REDIS__URL": "redis://:hunter2@localhost:1/0"},
    ),
    "no server": Case(
        "submit good.py",
        "start everything with `bandmaster up`",
        code=4,
        environment={"BANDMASTER_PATHS__VAR_DIR": "no"},
    ),
}


def kept(driver: Driver) -> set[bytes]:
    """The keys of all executions there are."""
    with driver.connect() as client:
        keys = (key for key in client.keys("exec_queue:*") if isinstance(key, bytes))
        return {key for key in keys if key.split(b":")[1] in (b"event", b"message", b"meta")}


@pytest.fixture(scope="module")
def answers(driver: Driver) -> dict[str, Answer]:
    """What each case was answered; all are run at the start."""
    driver.script("good.py", "pass")
    driver.script("blank.py", "\n")
    driver.script("nul.py", "print(1)\0")
    driver.script("large.py", "#" * (2**20 + 1))
    # Every character of it takes two in JSON.
    driver.script("quotes.py", '"' * (2**19 + 1))
    (driver.folder / "latin.py").write_bytes(b"# cafe \xe9")
    before = kept(driver)

    answered = {name: driver.run(*case.arguments, stdin=case.stdin, **case.environment) for name, case in CASES.items()}
    assert kept(driver) == before
    return answered


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(answers: dict[str, Answer], name: str) -> None:
    case, answer = CASES[name], answers[name]
    assert (answer.code, answer.out) == (case.code, "")
    assert case.message in answer.err
    assert answer.err.startswith("bandmaster: ")
    assert answer.err.count("\n") == 1
    assert "hunter2" not in answer.err
